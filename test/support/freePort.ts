import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the range from which systems assign ephemeral ports and ports of outgoing connections (Linux from
// 32,768 on, others from 49,152). A port of that range that was free may be taken before it is used, or while
// a server restarts.
const FIRST = 15_000
const END = 32_000
const TRIES = 50

/** A loopback port on which no process listens, and which the system does not assign by itself. */
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
