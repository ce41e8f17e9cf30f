import type { Slot } from '../../ledger/slot.js'
import type { Stage } from '../../types/index.js'
import type { LaneState, LaneWrite } from '../../types/store.js'
import { equal, ok } from './check.js'
import { attemptIn, liveIn, richSlots, richTransactions, transactionIn } from './samples.js'
import type { Case } from './world.js'

export const writes: readonly Case[] = [
  {
    name: 'a lane without records is empty, and has no cursor',
    async run({ store, take }) {
      const expected: LaneState = { slots: [], transactions: [], cursor: undefined, arrived: 0 }
      equal(await store.load(await take()), expected, 'a lane that nobody wrote to')
    },
  },
  {
    name: 'slots are read as they were written: bigints, undefined fields, every state',
    async run({ store, other, lane, take, write }) {
      const lease = await take()
      const slots = richSlots(lane)
      await write(lease, { slots })
      for (const reader of [store, other]) {
        equal(byNonce((await reader.load(lease)).slots), slots, 'a slot came back as another one')
      }
    },
  },
  {
    name: 'transactions are read as they were kept, by every way there is',
    async run({ store, other, lane, take, write }) {
      const lease = await take()
      const kept = await store.enqueue(richTransactions(lane))
      const placed = richTransactions(lane).map((one, index) => ({ ...one, sequence: index + 1 }))
      equal(
        kept,
        placed.map((transaction) => ({ fresh: true, transaction })),
        'a transaction was kept as another one',
      )
      equal((await other.load(lease)).transactions, placed, 'a transaction was loaded as another one')
      equal((await other.changes(lane, 0, 9)).transactions, placed, 'a transaction changed into another one')
      equal((await other.arrivals(lane, 0, 9)).transactions, placed, 'a transaction arrived as another one')
      equal(
        [...(await other.list([lane], { limit: 9 })).items].reverse(),
        placed,
        'it is listed as another one',
      )

      const rewritten = placed.map((one) => ({ ...one, nonce: undefined, gas: 5n, status: undefined }))
      await write(lease, { transactions: rewritten })
      for (const one of rewritten) {
        equal(await other.find(lane, { id: one.id }), one, 'a written transaction was found as another one')
      }
    },
  },
  {
    name: 'a slot replaces what was kept for its nonce; a final one, and a hole without attempts, is deleted',
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
      equal((await store.load(next)).cursor, 7, 'the cursor fell with another holder')
    },
  },
  {
    name: 'what has ended is not loaded again; the rest is, in the order of arrival',
    async run({ store, keep, take, write }) {
      const lease = await take()
      const kept = await keep('a', 'b', 'c', 'd', 'e', 'f')
      const stages: readonly Stage[] = ['finalized', 'accepted', 'failed', 'cancelled', 'superseded', 'safe']
      const transactions = kept.map((one, index) => ({ ...one, stage: stages[index] ?? 'queued' }))
      await write(lease, { transactions: [...transactions].reverse() })
      equal(
        (await store.load(lease)).transactions.map(({ id }) => id),
        ['b', 'f'],
        'what a load holds',
      )
    },
  },
  {
    name: 'one that had ended and is in flight again is loaded again',
    async run({ store, keep, take, write }) {
      const lease = await take()
      const [kept] = await keep('a')
      ok(kept !== undefined, 'nothing was kept')
      await write(lease, { transactions: [{ ...kept, stage: 'finalized' }] })
      await write(lease, { transactions: [{ ...kept, stage: 'accepted' }] })
      equal((await store.load(lease)).transactions.length, 1, 'it is not loaded')
    },
  },
  {
    name: 'a write is seen whole or not at all, by another connection too',
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
        equal({ writes: seen.size, slots: slots.length }, { writes: 1, slots: 20 }, 'half a write was seen')
      }
    },
  },
  {
    name: 'a thousand slots and transactions go into one write',
    async run({ store, lane, take, write }) {
      const lease = await take()
      const ids = Array.from({ length: 1_000 }, (_, index) => index)
      await write(lease, {
        slots: ids.map((nonce) => liveIn(lane, nonce, `t${nonce}`, `${nonce}`)),
        transactions: ids.map((index) => transactionIn(lane, `t${index}`, { sequence: index })),
        cursor: 1_000,
      })
      const { slots, transactions } = await store.load(lease)
      equal([slots.length, transactions.length], [1_000, 1_000], 'how much is there')
    },
  },
]

function byNonce(slots: readonly Slot[]): readonly Slot[] {
  return [...slots].sort((a, b) => a.nonce - b.nonce)
}
