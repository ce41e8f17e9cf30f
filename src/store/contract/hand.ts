import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { transactionIn } from './samples.js'
import type { Case } from './world.js'

/** Another lane on the same chain. */
function beside(lane: LaneKey, newLane: () => LaneKey): LaneKey {
  return { ...lane, address: newLane().address }
}

const into = (lane: LaneKey, one: StoredTransaction | undefined, from: LaneKey): StoredTransaction => ({
  ...(one as StoredTransaction),
  lane,
  pooled: [from.address],
})

export const hand: readonly Case[] = [
  {
    name: 'a transaction that a write hands off to another lane arrives there as the last, and leaves its own',
    async run({ store, other, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const [a, b, c] = await keep('a', 'b', 'c')
      await store.enqueue([transactionIn(to, 'there')])
      const before = await store.changes(to, 'now', 1)
      await write(await take(), { transactions: [into(to, c, lane), into(to, a, lane)] })
      const arrived = [
        { ...into(to, c, lane), sequence: 2 },
        { ...into(to, a, lane), sequence: 3 },
      ]
      for (const by of [store, other]) {
        equal((await by.arrivals(to, 1, 9)).transactions, arrived, 'the arrivals in the other lane')
        equal(
          (await by.changes(to, before.revision, 9)).transactions,
          arrived,
          'the changes in the other lane',
        )
        equal(await by.find(lane, { id: 'c' }), arrived[0], 'the transaction found by its id')
        equal((await by.arrivals(lane, 0, 9)).transactions, [b], 'the remaining arrivals')
        equal((await by.changes(lane, 0, 9)).transactions, [b], 'the remaining changes')
        equal((await by.list([lane], { limit: 9 })).items, [b], 'the list of its former lane')
        equal((await by.list([to], { limit: 9 })).items.length, 3, 'the length of the list of its new lane')
      }
      equal((await store.load(await take(to))).transactions.length, 3, 'the load of its new owner')
    },
  },
  {
    name: 'a transaction may be handed off to a lane that was never used',
    async run({ store, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      await write(await take(), { transactions: [into(to, a, lane)] })
      equal((await store.arrivals(to, 0, 9)).transactions.length, 1, 'the arrivals in that lane')
    },
  },
  {
    name: 'a repeated write neither hands a transaction off again nor overwrites it',
    async run({ store, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      const lease = await take()
      const transactions = [into(to, a, lane)]
      await write(lease, { transactions })
      const [kept] = (await store.arrivals(to, 0, 9)).transactions
      ok(kept !== undefined, 'it did not arrive')
      const accepted: StoredTransaction = { ...kept, stage: 'accepted', nonce: 4 }
      await write(await take(to), { transactions: [accepted] })
      await write(lease, { transactions })
      equal(await store.find(lane, { id: 'a' }), accepted, 'the write of its new owner')
      equal(
        (await store.arrivals(to, kept.sequence, 9)).transactions,
        [],
        'the arrivals after the repeated write',
      )
    },
  },
  {
    name: 'P4: a late write of its former lane does not overwrite a transaction that was handed off',
    async run({ store, other, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      const lease = await take()
      await write(lease, { transactions: [into(to, a, lane)] })
      // With the same sequence in both lanes, and with another one.
      const [kept] = (await store.arrivals(to, 0, 9)).transactions
      const { revision } = await store.changes(to, 'now', 1)
      for (const sequence of [1, 2]) {
        const late: StoredTransaction = { ...(a as StoredTransaction), sequence, stage: 'accepted', nonce: 7 }
        await write(lease, { transactions: [late] })
        for (const by of [store, other]) {
          equal(await by.find(lane, { id: 'a' }), kept, 'the transaction found by its id')
          equal((await by.changes(to, revision, 9)).transactions, [], 'the changes in its new lane')
          equal((await by.arrivals(to, 0, 9)).transactions, [kept], 'the arrivals in its new lane')
        }
        equal((await store.load(lease)).transactions, [], 'the load of its former lane')
      }
      equal((await store.load(await take(to))).transactions, [kept], 'the load of its new owner')
    },
  },
  {
    name: 'only transactions that are queued in the lane of the lease are handed off',
    async run({ store, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const third = beside(lane, newLane)
      const lease = await take()
      const [a] = await keep('a')
      const signed: StoredTransaction = { ...(a as StoredTransaction), stage: 'signed', nonce: 0 }
      await write(lease, { transactions: [signed] })
      const [b] = await store.enqueue([transactionIn(third, 'b')])
      await write(lease, { transactions: [into(to, a, lane), into(to, b?.transaction, third)] })
      equal(await store.find(lane, { id: 'a' }), signed, 'the signed transaction')
      equal(await store.find(lane, { id: 'b' }), b?.transaction, "another lane's")
      equal((await store.arrivals(to, 0, 9)).transactions, [], 'what arrived')
    },
  },
  {
    name: 'a process that has lost the lane hands nothing off',
    async run({ store, lane, newLane, newHolder, keep, elapse }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      const lost = await store.acquire(lane, newHolder(), 50)
      await elapse(100)
      ok(
        lost !== undefined && (await store.acquire(lane, newHolder(), 50)) !== undefined,
        'the lane was not taken',
      )
      const late = store.write(lost, { slots: [], transactions: [into(to, a, lane)], cursor: 0 })
      const refused = await late.then(
        () => undefined,
        (error: { code?: string }) => error.code,
      )
      equal(refused, 'LEASE_LOST', 'the result for a process that has lost the lane')
      equal(await store.find(lane, { id: 'a' }), a, 'the stored transaction')
    },
  },
]
