import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Slot } from '../ledger/slot.js'
import type { LaneKey, Store } from '../types/store.js'
import { storeContract } from './contract/storeContract.js'
import { memoryStore } from './memory.js'

let nowMs = 0
const contract = (breakIt: (store: Store) => Partial<Store> = () => ({})) =>
  storeContract({
    open() {
      const store = memoryStore({ now: () => nowMs })
      return { ...store, ...breakIt(store) }
    },
    elapse: (ms) => {
      nowMs += ms
    },
    setBack: (ms) => {
      nowMs -= ms
    },
  })

/** Some cases wait until an event happens, or until it certainly did not. */
async function inVirtualTime(run: () => Promise<void>): Promise<void> {
  vi.useFakeTimers()
  const outcome = run()
  // The case may fail while time passes. Its outcome is checked below.
  outcome.catch(() => {})
  await vi.advanceTimersByTimeAsync(60_000)
  await outcome
}

afterEach(() => void vi.useRealTimers())

describe('the memory store passes the contract', () => {
  for (const { name, run } of contract()) it(name, () => inVirtualTime(run))
})

const withoutUndefined = (slot: Slot) =>
  Object.fromEntries(Object.entries(slot).filter(([, value]) => value !== undefined)) as Slot

describe('the contract detects a store that breaks one promise', () => {
  it.each<[string, (store: Store) => Partial<Store>]>([
    [
      'of many concurrent attempts exactly',
      () => ({ acquire: async (lane, holder) => ({ lane, holder, epoch: 1 }) }),
    ],
    ['a write with an old epoch', () => ({ write: async () => {} })],
    [
      'bigints, undefined fields, every state',
      (store) => ({
        async load(lease) {
          const state = await store.load(lease)
          return { ...state, slots: state.slots.map(withoutUndefined) }
        },
      }),
    ],
    [
      'exactly one is fresh',
      () => ({ enqueue: async (all) => all.map((transaction) => ({ fresh: true, transaction })) }),
    ],
    ['changes: in pages', (store) => ({ changes: (lane, revision) => store.changes(lane, revision, 100) })],
    [
      'until a write reports it done',
      (store) => ({ write: (lease, change) => store.write(lease, { ...change, commandsDoneUpTo: 99 }) }),
    ],
    [
      'no owner has executed',
      (store) => ({
        async load(lease) {
          return { ...(await store.load(lease)), arrived: 2 }
        },
      }),
    ],
    [
      'the cursor is the highest',
      (store) => ({
        async load(lease) {
          return { ...(await store.load(lease)), cursor: 3 }
        },
      }),
    ],
    ['a hint comes after an enqueue', () => ({ watch: () => () => {} })],
    [
      'by every hash',
      (store) => ({ find: async (chain, by) => ('id' in by ? store.find(chain, by) : undefined) }),
    ],
    ['a write of an outbox with an old epoch', () => ({ writeOutbox: async () => {} })],
    [
      'lanes are behind until',
      (store) => ({ readOutbox: async (name) => ({ ...(await store.readOutbox(name)), behind: [] }) }),
    ],
    [
      'deliveries are stored unchanged',
      (store) => ({
        writeOutbox: async (lease, { read, deliveries: [first] }) =>
          store.writeOutbox(lease, { read, deliveries: first ? [first] : [] }),
      }),
    ],
    [
      'newest first',
      (store) => ({
        list: async (of) => {
          const [lane] = of as readonly LaneKey[]
          return { items: (await store.arrivals(lane as LaneKey, 0, 9)).transactions }
        },
      }),
    ],
  ])('%s', async (promise, breakIt) => {
    const found = contract(breakIt).find(({ name }) => name.includes(promise))
    const run = inVirtualTime(() => found?.run() ?? Promise.reject(new Error('no such case')))
    await expect(run).rejects.toThrow('breaks its contract')
  })
})
