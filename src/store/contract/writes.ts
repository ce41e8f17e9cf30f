import type { Slot } from '../../ledger/slot.js'
import type { Stage } from '../../types/index.js'
import type { LaneKey, LaneState, LaneWrite, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { attemptIn, hashIn, liveIn, richSlots, richTransactions, transactionIn } from './samples.js'
import { type Case, LONG_MS } from './world.js'

export const writes: readonly Case[] = [
  {
    name: 'a lane without records is empty, and has no cursor',
    async run({ store, take }) {
      const expected: LaneState = { slots: [], transactions: [], cursor: undefined, arrived: 0 }
      equal(await store.load(await take()), expected, 'a lane that was never written')
    },
  },
  {
    name: 'slots are read back unchanged: bigints, undefined fields, every state',
    async run({ store, other, lane, take, write }) {
      const lease = await take()
      const slots = richSlots(lane)
      await write(lease, { slots })
      for (const reader of [store, other]) {
        equal(byNonce((await reader.load(lease)).slots), slots, 'a slot was read back changed')
      }
    },
  },
  {
    name: 'transactions are read back unchanged, in every way to read them',
    async run({ store, other, lane, take, write }) {
      const lease = await take()
      const kept = await store.enqueue(richTransactions(lane))
      const placed = richTransactions(lane).map((one, index) => ({ ...one, sequence: index + 1 }))
      equal(
        kept,
        placed.map((transaction) => ({ fresh: true, transaction })),
        'a transaction was stored changed',
      )
      equal((await other.load(lease)).transactions, placed, 'a transaction was loaded changed')
      equal(
        (await other.changes(lane, 0, 9)).transactions,
        placed,
        'a transaction appears changed among the changes',
      )
      equal((await other.arrivals(lane, 0, 9)).transactions, placed, 'a transaction arrived changed')
      equal(
        [...(await other.list([lane], { limit: 9 })).items].reverse(),
        placed,
        'a transaction is listed changed',
      )

      const rewritten = placed.map((one) => ({ ...one, nonce: undefined, gas: 5n, status: undefined }))
      await write(lease, { transactions: rewritten })
      for (const one of rewritten) {
        equal(await other.find(lane, { id: one.id }), one, 'a written transaction was found changed')
      }
    },
  },
  {
    name: 'a slot replaces the stored one of its nonce; a final one, and a hole without attempts, is deleted',
    async run({ store, lane, take, write }) {
      const lease = await take()
      await write(lease, { slots: [0, 1, 2, 3].map((nonce) => liveIn(lane, nonce, 'a', 'a1')) })
      const hole: Slot = { state: 'hole', nonce: 2, attempts: [attemptIn(lane, 'a', 'a1')] }
      const bumped = liveIn(lane, 3, 'a', 'a1', 'a2')
      const slots: readonly Slot[] = [
        { state: 'final', nonce: 0, attempts: [attemptIn(lane, 'a', 'a1')] },
        { state: 'hole', nonce: 1, attempts: [] },
        hole,
        bumped,
      ]
      await write(lease, { slots })
      equal(byNonce((await store.load(lease)).slots), [hole, bumped], 'the slots after both writes')
    },
  },
  {
    name: 'the cursor is the highest that was ever written',
    async run({ store, take, write }) {
      const lease = await take()
      for (const cursor of [0, 7, 3]) await write(lease, { cursor })
      equal((await store.load(lease)).cursor, 7, 'the cursor fell')
      await store.release(lease)
      const next = await take()
      await write(next, { cursor: 5 })
      equal((await store.load(next)).cursor, 7, 'the cursor fell with another owner')
    },
  },
  {
    name: 'ended transactions are not loaded again; the others are, in the order of arrival',
    async run({ store, keep, take, write }) {
      const lease = await take()
      const kept = await keep('a', 'b', 'c', 'd', 'e', 'f')
      const stages: readonly Stage[] = ['finalized', 'accepted', 'failed', 'cancelled', 'superseded', 'safe']
      const transactions = kept.map((one, index) => ({ ...one, stage: stages[index] ?? 'queued' }))
      await write(lease, { transactions: [...transactions].reverse() })
      equal(
        (await store.load(lease)).transactions.map(({ id }) => id),
        ['b', 'f'],
        'the content of a load',
      )
    },
  },
  {
    name: 'one that had ended and is in flight again is loaded again',
    async run({ store, keep, take, write }) {
      const lease = await take()
      const [kept] = await keep('a')
      ok(kept !== undefined, 'the transaction was not stored')
      await write(lease, { transactions: [{ ...kept, stage: 'finalized' }] })
      await write(lease, { transactions: [{ ...kept, stage: 'accepted' }] })
      equal((await store.load(lease)).transactions.length, 1, 'it is not loaded')
    },
  },
  {
    name: 'a write is visible completely or not at all, to another connection too',
    async run({ store, other, lane, take }) {
      const lease = await take()
      const change = (turn: number): LaneWrite => ({
        slots: Array.from({ length: 20 }, (_, nonce) => liveIn(lane, nonce, `t${turn}`, `a${turn}`)),
        transactions: [transactionIn(lane, 'a', { createdAtMs: turn, sequence: 1 })],
        cursor: turn,
      })
      await store.write(lease, change(0))
      const reads: Promise<LaneState>[] = []
      const turns = Array.from({ length: 10 }, (_, index) => index + 1)
      for (const turn of turns) {
        reads.push(other.load(lease))
        const written = store.write(lease, change(turn))
        reads.push(other.load(lease), store.load(lease))
        await written
      }
      for (const { slots, transactions, cursor } of await Promise.all(reads)) {
        const seen = new Set([cursor, ...transactions.map(({ createdAtMs }) => createdAtMs)])
        for (const slot of slots) if (slot.state === 'live') seen.add(Number(slot.claims[0]?.slice(1)))
        equal(
          { writes: seen.size, slots: slots.length },
          { writes: 1, slots: 20 },
          'half a write was visible',
        )
      }
    },
  },
  {
    name: 'a thousand slots and transactions fit into one write',
    async run({ store, lane, take, write }) {
      const lease = await take()
      const ids = Array.from({ length: 1_000 }, (_, index) => index)
      await write(lease, {
        slots: ids.map((nonce) => liveIn(lane, nonce, `t${nonce}`, `${nonce}`)),
        transactions: ids.map((index) => transactionIn(lane, `t${index}`, { sequence: index })),
        cursor: 1_000,
      })
      const { slots, transactions } = await store.load(lease)
      equal([slots.length, transactions.length], [1_000, 1_000], 'the number of records')
    },
  },
]

function byNonce(slots: readonly Slot[]): readonly Slot[] {
  return [...slots].sort((a, b) => a.nonce - b.nonce)
}

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

export const reopen: readonly Case[] = [
  {
    name: 'a store that is opened later has everything: slots, transactions, commands, hashes, the cursor',
    shared: true,
    async run({ store, other, lane, take, write }) {
      const lease = await take()
      await store.enqueue(richTransactions(lane))
      await write(lease, { slots: [...richSlots(lane), liveIn(lane, 20, 'plain', 'p1')], cursor: 21 })
      await store.postCommand(lane, 'plain', { kind: 'speedUp', fees: { gasPrice: 3n } })
      const before = await everything(store)
      equal(await everything(other), before, 'the state that another connection reads')

      async function everything(from: typeof store) {
        return {
          state: await from.load(lease),
          arrivals: await from.arrivals(lane, 0, 10),
          changes: await from.changes(lane, 0, 10),
          list: await from.list([lane], { limit: 10 }),
          found: await from.find(lane, { hash: hashIn(lane, 'p1') }),
        }
      }
    },
  },
  {
    name: 'a lease survives the store that took it: for its owner, and against others',
    shared: true,
    async run({ store, other, lane, newHolder }) {
      const holder = newHolder()
      const lease = await store.acquire(lane, holder, LONG_MS)
      ok(lease !== undefined, 'a free lane cannot be taken')
      equal(
        await other.acquire(lane, newHolder(), LONG_MS),
        undefined,
        'a lane with an owner was given to another process',
      )
      equal(await other.acquire(lane, holder, LONG_MS), lease, 'its owner no longer has it')
    },
  },
]
