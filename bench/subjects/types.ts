import { promisify } from 'node:util'
import type { Chain, Hex } from 'viem'

/** The environment of a sender: a node, and an account of its own. */
export type World = {
  readonly url: string
  readonly chain: Chain
  readonly privateKey: Hex
  /** Total number of transfers, for subjects that sign in advance. */
  readonly count: number
}

/** One sender for one account. */
export type Driver = {
  /** Preparation before the clock starts. */
  readonly ready?: () => Promise<void>
  /** Sends the transfers from 1 to `count`; resolves when the last was accepted. */
  burst(count: number): Promise<void>
  /** The same for a caller that yields to the event loop between the parts. */
  readonly burstInParts?: (count: number) => Promise<void>
  close(): Promise<void>
}

export type Subject = {
  readonly name: string
  /** With `nothing`, the sender determines gas and fees itself. */
  readonly given: 'nothing' | 'gasAndFees'
  /** Loads the library on demand, so that other subjects' processes do not contain it. */
  open(world: World): Driver | Promise<Driver>
}

/** Maximum concurrent requests of a subject without batches: 5,000 at once would be a test of sockets. */
const OPEN_MAX = 500

/**
 * Calls `send` for 1 to `count` with limited concurrency.
 * @throws the first error, after all calls have ended
 */
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

/** Size of a part for a caller with other work. */
const PART = 50
const turn = promisify(setImmediate)

/** Calls `send` for 1 to `count`, one part per turn of the event loop. @throws the first error */
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
