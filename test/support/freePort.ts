import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below what systems give to whoever asks for any port, and to each outgoing connection (Linux from 32,768 on, others
// from 49,152): of those, one that was free is taken by the time it is used, or while a server restarts.
const FIRST = 15_000
const END = 32_000
const TRIES = 50

/** A loopback port that nobody listens at, and that nobody is given by chance. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${TRIES} ports is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
