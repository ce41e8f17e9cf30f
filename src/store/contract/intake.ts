import type { LaneCommand, LaneKey, Lease, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { hashIn, transactionIn } from './samples.js'
import type { Case, World } from './world.js'

export const enqueue: readonly Case[] = [
  {
    name: 'an unknown transaction is fresh, and gets a sequence in the order of arrival',
    async run({ store, other, lane }) {
      const sequences: number[] = []
      for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
        const [kept] = await (index % 2 ? other : store).enqueue([transactionIn(lane, id, { sequence: 9 })])
        ok(kept?.fresh === true, 'an unknown id is not fresh')
        sequences.push(kept.transaction.sequence)
      }
      equal(risingAbove(0, sequences), true, 'the sequence does not rise in the order of arrival')
    },
  },
  {
    name: 'a known transaction is returned unchanged, and nothing is written',
    async run({ store, other, lane, take, keep, write }) {
      const lease = await take()
      const [first] = await keep('a')
      ok(first !== undefined, 'no transaction was stored')
      const changed: StoredTransaction = { ...first, stage: 'sealed', status: 'success', nonce: 3 }
      await write(lease, { transactions: [changed] })
      const { revision } = await store.changes(lane, 0, 10)
      const again = transactionIn(lane, 'a', { fingerprint: hashIn(lane, 'other'), priority: 5 })
      for (const by of [store, other]) {
        equal(await by.enqueue([again]), [{ fresh: false, transaction: changed }], 'the known transaction')
      }
      equal(await store.find(lane, { id: 'a' }), changed, 'it was overwritten')
      equal((await store.changes(lane, revision, 10)).transactions, [], 'it counts as changed')
    },
  },
  {
    name: 'an ended transaction is known as well',
    async run({ store, keep, lane, take, write }) {
      const [kept] = await keep('a')
      ok(kept !== undefined, 'no transaction was stored')
      await write(await take(), { transactions: [{ ...kept, stage: 'cancelled' }] })
      const [again] = await store.enqueue([transactionIn(lane, 'a')])
      equal([again?.fresh, again?.transaction.stage], [false, 'cancelled'], 'an id that has ended')
    },
  },
  {
    name: 'of many concurrent calls with one id exactly one is fresh, and all return the same',
    async run({ store, other, lane }) {
      const calls = Array.from({ length: 24 }, (_, index) =>
        (index % 2 ? other : store).enqueue([transactionIn(lane, 'a', { priority: index })]),
      )
      const answers = (await Promise.all(calls)).flat()
      equal(answers.filter(({ fresh }) => fresh).length, 1, 'the number of fresh results')
      for (const { transaction } of answers) {
        equal(transaction, answers[0]?.transaction, 'two callers got different results')
      }
    },
  },
  {
    name: 'if a call contains an id twice, the first is fresh, and the second returns it',
    async run({ store, lane }) {
      const ids = ['a', 'b', 'a', 'c', 'b']
      const kept = await store.enqueue(ids.map((id, priority) => transactionIn(lane, id, { priority })))
      equal(
        kept.map(({ fresh, transaction }) => [fresh, transaction.id, transaction.priority]),
        [
          [true, 'a', 0],
          [true, 'b', 1],
          [false, 'a', 0],
          [true, 'c', 3],
          [false, 'b', 1],
        ],
        'the results, in order',
      )
      const fresh = kept.filter((one) => one.fresh).map(({ transaction }) => transaction.sequence)
      equal(risingAbove(0, fresh), true, 'the sequence does not rise within one call')
    },
  },
  {
    name: 'overlapping batches, at once and in opposite orders, store each id once',
    async run({ store, other, lane }) {
      const ids = Array.from({ length: 40 }, (_, index) => `t${index}`)
      const calls = Array.from({ length: 6 }, (_, index) => {
        const order = index % 2 ? ids : [...ids].reverse()
        return (index % 2 ? other : store).enqueue(order.map((id) => transactionIn(lane, id)))
      })
      const fresh = (await Promise.all(calls)).flat().filter((one) => one.fresh)
      equal(fresh.map(({ transaction }) => transaction.id).sort(), [...ids].sort(), 'the fresh transactions')
      const sequences = fresh.map(({ transaction }) => transaction.sequence)
      equal(new Set(sequences).size, ids.length, 'two transactions have the same sequence')
    },
  },
  {
    name: 'an id is known on its own chain only, and in all lanes of it',
    async run({ store, lane, newLane, keep }) {
      await keep('a')
      const { address, genesisHash } = newLane()
      const elsewhere = [
        { ...lane, chainId: 1 },
        { ...lane, genesisHash },
      ]
      for (const chain of elsewhere) {
        const [kept] = await store.enqueue([transactionIn(chain, 'a')])
        ok(kept?.fresh === true, 'an id of another chain is not fresh')
      }
      const [sameChain] = await store.enqueue([transactionIn({ ...lane, address }, 'a')])
      equal(
        [sameChain?.fresh, sameChain?.transaction.lane],
        [false, lane],
        'an id of another lane of the chain',
      )
    },
  },
  {
    name: 'one call stores transactions of several lanes, each in the order of its own lane',
    async run({ store, lane, newLane }) {
      const lanes = [lane, newLane(), newLane()]
      const mixed = Array.from({ length: 30 }, (_, index) =>
        transactionIn(lanes[index % 3] ?? lane, `t${index}`),
      )
      const kept = await store.enqueue(mixed)
      for (const one of lanes) {
        const own = kept.filter(({ transaction }) => transaction.lane.address === one.address)
        equal(
          (await store.arrivals(one, 0, 100)).transactions,
          own.map(({ transaction }) => transaction),
          'the arrivals of a lane',
        )
      }
    },
  },
  {
    name: 'an empty call stores nothing',
    async run({ store }) {
      equal(await store.enqueue([]), [], 'its result')
    },
  },
]

/** True if each number is above the one before it. */
export function risingAbove(start: number, numbers: readonly number[]): boolean {
  return numbers.every((number, index) => number > (index === 0 ? start : (numbers[index - 1] ?? start)))
}

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

const CANCEL: LaneCommand = { kind: 'cancel' }

export const commands: readonly Case[] = [
  {
    name: 'a command reaches the lease owner, in order and unchanged',
    async run({ store, other, lane, keep }) {
      await keep('a', 'b')
      const all: readonly { id: string; command: LaneCommand }[] = [
        {
          id: 'b',
          command: { kind: 'speedUp', fees: { maxFeePerGas: 2n ** 65n, maxPriorityFeePerGas: 1n } },
        },
        { id: 'a', command: CANCEL },
        { id: 'b', command: { kind: 'speedUp', fees: undefined } },
        { id: 'b', command: { kind: 'speedUp', fees: { gasPrice: 7n } } },
      ]
      for (const { id, command } of all)
        equal(await other.postCommand(lane, id, command), true, 'a command for a known transaction')
      const { commands: seen } = await store.arrivals(lane, 0, 10)
      equal(
        seen.map(({ id, command }) => ({ id, command })),
        all,
        'the commands that the lease owner reads',
      )
    },
  },
  {
    name: 'a command stays until a write reports it done, and later ones stay',
    async run({ store, other, lane, keep, take, write }) {
      await keep('a')
      const lease = await take()
      for (let index = 0; index < 3; index++) await store.postCommand(lane, 'a', CANCEL)
      const [first, second, third] = (await store.arrivals(lane, 0, 10)).commands
      ok(first !== undefined && second !== undefined && third !== undefined, 'a command is missing')
      await write(lease, {})
      equal(
        (await other.arrivals(lane, 0, 10)).commands,
        [first, second, third],
        'a write that reports none done',
      )
      await write(lease, { commandsDoneUpTo: second.sequence })
      equal((await other.arrivals(lane, 0, 10)).commands, [third], 'a write that reports two done')
    },
  },
  {
    name: 'a command that no owner has executed arrives at the next owner',
    async run({ store, other, lane, keep, take, write }) {
      await keep('a')
      const lease = await take()
      await store.postCommand(lane, 'a', CANCEL)
      await keep('b')
      await store.release(lease)
      const next = await take()
      const { arrived } = await other.load(next)
      const { commands: open } = await other.arrivals(lane, arrived, 10)
      equal(
        open.map(({ id }) => id),
        ['a'],
        'a read that continues from `arrived` misses an open command',
      )
      await write(next, { commandsDoneUpTo: open[0]?.sequence })
      equal(
        (await other.arrivals(lane, (await other.load(next)).arrived, 10)).commands,
        [],
        'the command is done',
      )
    },
  },
  {
    name: 'a command for an unknown or an ended transaction is refused',
    async run({ store, lane, newLane, keep, take, write }) {
      const kept = await keep('a', 'b', 'c', 'd')
      const stages = ['finalized', 'failed', 'cancelled', 'superseded'] as const
      const transactions = kept.map((one, index) => ({ ...one, stage: stages[index] ?? 'failed' }))
      await write(await take(), { transactions })
      for (const { id, stage } of transactions) {
        equal(
          await store.postCommand(lane, id, CANCEL),
          false,
          `a command for a transaction that is ${stage}`,
        )
      }
      equal(await store.postCommand(lane, 'nobody', CANCEL), false, 'a command for an unknown id')
      equal(await store.postCommand(newLane(), 'a', CANCEL), false, 'a command on another chain')
      equal((await store.arrivals(lane, 0, 10)).commands, [], 'a refused command was stored')
    },
  },
]
