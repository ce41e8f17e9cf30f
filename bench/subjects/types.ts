import { promisify } from 'node:util'
import type { Chain, Hex } from 'viem'

/** What a sender finds: a node, and an account of its own. */
export type World = {
  readonly url: string
  readonly chain: Chain
  readonly privateKey: Hex
  /** How many will be asked for: of use to who signs beforehand. */
  readonly count: number
}

/** One sender at work for one account. */
export type Driver = {
  /** What comes before the clock starts. */
  readonly ready?: () => Promise<void>
  /** Sends the transfers from 1 to `count`; resolves when the last was accepted. */
  burst(count: number): Promise<void>
  /** The same by a caller who lets the event loop turn between one part and the next. */
  readonly burstInParts?: (count: number) => Promise<void>
  close(): Promise<void>
}

export type Subject = {
  readonly name: string
  /** `nothing`: the sender finds gas and fees out by itself. */
  readonly given: 'nothing' | 'gasAndFees'
  /** Loads its library: what the process of another subject does not need is not in its heap. */
  open(world: World): Driver | Promise<Driver>
}

/** Requests open at once of who posts one for each transfer: all 5,000 at once would be a test of sockets. */
const OPEN_MAX = 500

/** Calls `send` for 1 to `count`, so many at once. @throws what the first failed one threw, when all have ended */
export async function sendEach(
  count: number,
  send: (number: number) => Promise<unknown>,
  openMax = OPEN_MAX,
): Promise<void> {
  let next = 1
  const failures: unknown[] = []
  async function work(): Promise<void> {
    while (next <= count) await send(next++).catch((error: unknown) => failures.push(error))
  }
  await Promise.all(Array.from({ length: Math.min(openMax, count) }, work))
  if (failures.length > 0) throw failures[0]
}

/** Asked for at once by a caller who has other things to do. */
const PART = 50
const turn = promisify(setImmediate)

/** Calls `send` for 1 to `count`, a part in each turn of the event loop. @throws what the first failed one threw */
export async function sendInParts(count: number, send: (number: number) => Promise<unknown>): Promise<void> {
  const all: Promise<unknown>[] = []
  for (let number = 1; number <= count; number++) {
    const sent = send(number)
    sent.catch(() => undefined)
    all.push(sent)
    if (number % PART === 0) await turn()
  }
  await Promise.all(all)
}
