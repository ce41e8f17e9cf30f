import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { transactionIn } from './samples.js'
import type { Case } from './world.js'

/** Another lane of the chain of this one. */
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
    name: 'what a write hands to another lane arrives there as the last, and has left its own',
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
        equal((await by.arrivals(to, 1, 9)).transactions, arrived, 'what arrived in the other lane')
        equal((await by.changes(to, before.revision, 9)).transactions, arrived, 'what changed there')
        equal(await by.find(lane, { id: 'c' }), arrived[0], 'what is found by its id')
        equal((await by.arrivals(lane, 0, 9)).transactions, [b], 'what is left of the arrivals')
        equal((await by.changes(lane, 0, 9)).transactions, [b], 'what is left of the changes')
        equal((await by.list([lane], { limit: 9 })).items, [b], 'what is listed where it was')
        equal((await by.list([to], { limit: 9 })).items.length, 3, 'how many are listed where it is')
      }
      equal((await store.load(await take(to))).transactions.length, 3, 'what its new holder loads')
    },
  },
  {
    name: 'a lane that nobody has used yet may be handed something',
    async run({ store, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      await write(await take(), { transactions: [into(to, a, lane)] })
      equal((await store.arrivals(to, 0, 9)).transactions.length, 1, 'what arrived there')
    },
  },
  {
    name: 'what was handed is not handed again, nor written over, by a write that comes once more',
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
      equal(await store.find(lane, { id: 'a' }), accepted, 'what its new holder wrote')
      equal((await store.arrivals(to, kept.sequence, 9)).transactions, [], 'what arrived once more')
    },
  },
  {
    name: 'P4: what was handed is not written over by a late write of the lane that it has left',
    async run({ store, other, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      const lease = await take()
      await write(lease, { transactions: [into(to, a, lane)] })
      // With the same place in both lanes, and with another one.
      const [kept] = (await store.arrivals(to, 0, 9)).transactions
      const { revision } = await store.changes(to, 'now', 1)
      for (const sequence of [1, 2]) {
        const late: StoredTransaction = { ...(a as StoredTransaction), sequence, stage: 'accepted', nonce: 7 }
        await write(lease, { transactions: [late] })
        for (const by of [store, other]) {
          equal(await by.find(lane, { id: 'a' }), kept, 'what is found by its id')
          equal((await by.changes(to, revision, 9)).transactions, [], 'what changed where it is')
          equal((await by.arrivals(to, 0, 9)).transactions, [kept], 'what has arrived there')
        }
        equal((await store.load(lease)).transactions, [], 'what the lane loads that it has left')
      }
      equal((await store.load(await take(to))).transactions, [kept], 'what its new holder loads')
    },
  },
  {
    name: 'only what is queued, in the lane of the lease, is handed',
    async run({ store, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const third = beside(lane, newLane)
      const lease = await take()
      const [a] = await keep('a')
      const signed: StoredTransaction = { ...(a as StoredTransaction), stage: 'signed', nonce: 0 }
      await write(lease, { transactions: [signed] })
      const [b] = await store.enqueue([transactionIn(third, 'b')])
      await write(lease, { transactions: [into(to, a, lane), into(to, b?.transaction, third)] })
      equal(await store.find(lane, { id: 'a' }), signed, 'what was signed')
      equal(await store.find(lane, { id: 'b' }), b?.transaction, "another lane's")
      equal((await store.arrivals(to, 0, 9)).transactions, [], 'what arrived')
    },
  },
  {
    name: 'who has lost the lane hands nothing',
    async run({ store, lane, newLane, newHolder, keep, elapse }) {
      const to = beside(lane, newLane)
      const [a] = await keep('a')
      const lost = await store.acquire(lane, newHolder(), 50)
      await elapse(100)
      ok(lost !== undefined && (await store.acquire(lane, newHolder(), 50)) !== undefined, 'nobody took it')
      const late = store.write(lost, { slots: [], transactions: [into(to, a, lane)], cursor: 0 })
      const refused = await late.then(
        () => undefined,
        (error: { code?: string }) => error.code,
      )
      equal(refused, 'LEASE_LOST', 'the answer to who has lost the lane')
      equal(await store.find(lane, { id: 'a' }), a, 'what is kept')
    },
  },
]
