import { liveIn, transactionIn } from '../../src/store/contract/samples.js'
import type { LaneKey, LaneWrite, Store, StoredTransaction } from '../../src/types/store.js'

let lanes = 0

/** A lane that no other test uses. */
export function newLane(): LaneKey {
  lanes++
  const hex = (length: number) => lanes.toString(16).padStart(length, '0') as string
  return { chainId: 31_337, genesisHash: `0x${'9'.repeat(64)}`, address: `0x${hex(40)}` }
}

export { liveIn, transactionIn }

export async function keep(store: Store, lane: LaneKey, ...ids: readonly string[]) {
  const kept = await store.enqueue(ids.map((id) => transactionIn(lane, id)))
  return kept.map(({ transaction }) => transaction)
}

export function change(over: Partial<LaneWrite>): LaneWrite {
  return { slots: [], transactions: [], cursor: 0, ...over }
}

export function ids(transactions: readonly StoredTransaction[]): string[] {
  return transactions.map(({ id }) => id)
}

/** The rejection of a promise. A test that expects one fails if the promise resolves. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error('It did not reject.')
    },
    (error: unknown) => error,
  )
}

/** Polls until the condition holds, or until the test times out. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}
