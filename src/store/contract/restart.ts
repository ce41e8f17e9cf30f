import type { LaneKey, Lease, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { hashIn, transactionIn } from './samples.js'
import type { Case, World } from './world.js'

/** A stored transaction that ended at this stage. */
async function endedAt(
  { keep, take, write }: Pick<World, 'keep' | 'take' | 'write'>,
  stage: StoredTransaction['stage'],
  more: Partial<StoredTransaction> = {},
): Promise<{ readonly ended: StoredTransaction; readonly lease: Lease }> {
  const [kept] = await keep('a')
  ok(kept !== undefined, 'the transaction was not stored')
  const ended = { ...kept, stage, ...more }
  const lease = await take()
  await write(lease, { transactions: [ended] })
  return { ended, lease }
}

const anew = (lane: LaneKey) => transactionIn(lane, 'a', { priority: 7 })

export const restart: readonly Case[] = [
  {
    name: 'a transaction that ended without execution restarts under its id: queued, as the last to arrive',
    async run(world) {
      const { store, other, lane, keep } = world
      const hash = hashIn(lane, 'former')
      const { ended, lease } = await endedAt(world, 'failed', { hash, nonce: 4 })
      const [later] = await keep('later')
      const now = await store.changes(lane, 'now', 1)
      const answer = await other.restart(anew(lane), ended)
      ok(answer.fresh, 'it did not restart')
      const { transaction } = answer
      ok(later !== undefined && transaction.sequence > later.sequence, 'it is not the last to arrive')
      equal({ ...anew(lane), sequence: transaction.sequence }, transaction, 'the stored transaction')
      for (const by of [store, other]) {
        equal(await by.find(lane, { id: 'a' }), transaction, 'the transaction found by its id')
        equal(await by.find(lane, { hash }), transaction, 'the transaction found by its former hash')
        equal((await by.arrivals(lane, later.sequence, 9)).transactions, [transaction], 'what arrived')
        equal((await by.changes(lane, now.revision, 9)).transactions, [transaction], 'what changed')
        equal(
          (await by.list([lane], { limit: 9, stage: 'failed' })).items,
          [],
          'the list of failed transactions',
        )
        equal(
          (await by.list([lane], { limit: 9, stage: 'queued' })).items.length,
          2,
          'the number of queued transactions',
        )
      }
      const state = await store.load(lease)
      equal(state.transactions, [later, transaction], 'the load of its owner')
    },
  },
  {
    name: 'of many concurrent restarts exactly one is fresh, and the others return it',
    async run(world) {
      const { store, other, lane } = world
      const { ended } = await endedAt(world, 'cancelled')
      const calls = Array.from({ length: 12 }, (_, index) =>
        (index % 2 ? other : store).restart(transactionIn(lane, 'a', { priority: index }), ended),
      )
      const answers = await Promise.all(calls)
      equal(answers.filter(({ fresh }) => fresh).length, 1, 'the number of fresh results')
      for (const { transaction } of answers)
        equal(transaction, answers[0]?.transaction, 'the results of the others')
    },
  },
  {
    name: 'an open, executed or superseded transaction does not restart',
    async run(world) {
      const { store, lane, newLane } = world
      const stages = [
        'queued',
        'signed',
        'accepted',
        'preconfirmed',
        'sealed',
        'safe',
        'finalized',
        'superseded',
      ] as const
      for (const stage of stages) {
        const own = { ...lane, address: newLane().address }
        const [kept] = await store.enqueue([transactionIn(own, `at ${stage}`)])
        const lease = await world.take(own)
        const there = { ...(kept as { transaction: StoredTransaction }).transaction, stage }
        await store.write(lease, { slots: [], transactions: [there], cursor: 0 })
        const answer = await store.restart(transactionIn(own, `at ${stage}`, { priority: 7 }), there)
        equal(answer, { fresh: false, transaction: there }, `a transaction that is ${stage}`)
      }
    },
  },
  {
    name: 'a restarted transaction does not restart again for a caller that knows only the former one',
    async run(world) {
      const { store, other, lane, write } = world
      const { ended: first, lease } = await endedAt(world, 'failed')
      const { transaction } = await store.restart(anew(lane), first)
      equal(await other.restart(anew(lane), first), { fresh: false, transaction }, 'while it is queued')
      const second: StoredTransaction = { ...transaction, stage: 'failed' }
      await write(lease, { transactions: [second] })
      equal(await other.restart(anew(lane), first), { fresh: false, transaction: second }, 'once it ended')
      ok((await other.restart(anew(lane), second)).fresh, 'it restarted a second time')
    },
  },
  {
    name: 'a late write of the former transaction changes nothing',
    async run(world) {
      const { store, lane, write } = world
      const { ended, lease } = await endedAt(world, 'failed')
      const { transaction } = await store.restart(anew(lane), ended)
      await write(lease, { transactions: [{ ...ended, status: 'reverted' }] })
      equal(await store.find(lane, { id: 'a' }), transaction, 'the stored transaction')
      await write(lease, { transactions: [{ ...transaction, stage: 'signed' }] })
      equal((await store.find(lane, { id: 'a' }))?.stage, 'signed', 'its own write')
    },
  },
  {
    name: 'commands for the former transaction are not commands for the new one',
    async run(world) {
      const { store, lane, keep, take, write } = world
      const [kept] = await keep('a')
      ok(
        kept !== undefined && (await store.postCommand(lane, 'a', { kind: 'cancel' })),
        'the command was not left',
      )
      const ended: StoredTransaction = { ...kept, stage: 'cancelled' }
      await write(await take(), { transactions: [ended] })
      await store.restart(anew(lane), ended)
      equal((await store.arrivals(lane, 0, 9)).commands, [], 'the commands')
      ok(await store.postCommand(lane, 'a', { kind: 'abort' }), 'no command for it can be left')
    },
  },
  {
    name: 'it may restart in another lane of the chain, used or not, and leaves its own',
    async run(world) {
      const { store, other, lane, newLane } = world
      const { ended } = await endedAt(world, 'failed')
      const to = { ...lane, address: newLane().address }
      const answer = await store.restart(anew(to), ended)
      equal([answer.fresh, answer.transaction.sequence], [true, 1], 'its sequence in that lane')
      equal((await other.arrivals(to, 0, 9)).transactions, [answer.transaction], 'the arrivals in that lane')
      equal((await other.arrivals(lane, 0, 9)).transactions, [], 'the remaining arrivals')
      equal((await other.list([to], { limit: 9 })).items, [answer.transaction], 'the list of that lane')
    },
  },
  {
    name: 'a restart of a transaction that was deleted meanwhile is stored as a new one',
    async run({ store, lane }) {
      const answer = await store.restart(anew(lane), transactionIn(lane, 'a', { stage: 'failed' }))
      equal([answer.fresh, answer.transaction.sequence], [true, 1], 'its place')
    },
  },
]
