import type { StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { hashIn, transactionIn } from './samples.js'
import type { Case } from './world.js'

export const enqueue: readonly Case[] = [
  {
    name: 'what is not known is fresh, and has a place in the order of arrival',
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
    name: 'what is known is given back as it is, and nothing is written',
    async run({ store, other, lane, take, keep, write }) {
      const lease = await take()
      const [first] = await keep('a')
      ok(first !== undefined, 'nothing was kept')
      const changed: StoredTransaction = { ...first, stage: 'sealed', status: 'success', nonce: 3 }
      await write(lease, { transactions: [changed] })
      const { revision } = await store.changes(lane, 0, 10)
      const again = transactionIn(lane, 'a', { fingerprint: hashIn(lane, 'other'), priority: 5 })
      for (const by of [store, other]) {
        equal(await by.enqueue([again]), [{ fresh: false, transaction: changed }], 'what is known')
      }
      equal(await store.find(lane, { id: 'a' }), changed, 'it was written over')
      equal((await store.changes(lane, revision, 10)).transactions, [], 'it counts as changed')
    },
  },
  {
    name: 'what has ended is known as well',
    async run({ store, keep, lane, take, write }) {
      const [kept] = await keep('a')
      ok(kept !== undefined, 'nothing was kept')
      await write(await take(), { transactions: [{ ...kept, stage: 'cancelled' }] })
      const [again] = await store.enqueue([transactionIn(lane, 'a')])
      equal([again?.fresh, again?.transaction.stage], [false, 'cancelled'], 'an id that has ended')
    },
  },
  {
    name: 'of many calls with one id at once exactly one is fresh, and all say the same',
    async run({ store, other, lane }) {
      const calls = Array.from({ length: 24 }, (_, index) =>
        (index % 2 ? other : store).enqueue([transactionIn(lane, 'a', { priority: index })]),
      )
      const answers = (await Promise.all(calls)).flat()
      equal(answers.filter(({ fresh }) => fresh).length, 1, 'how many are fresh')
      for (const { transaction } of answers) {
        equal(transaction, answers[0]?.transaction, 'two callers were told different things')
      }
    },
  },
  {
    name: 'of an id twice in one call the first is fresh, and the second is told of it',
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
        'the answers, in order',
      )
      const fresh = kept.filter((one) => one.fresh).map(({ transaction }) => transaction.sequence)
      equal(risingAbove(0, fresh), true, 'the sequence does not rise within one call')
    },
  },
  {
    name: 'batches that overlap, at once and in opposite orders, keep each id once',
    async run({ store, other, lane }) {
      const ids = Array.from({ length: 40 }, (_, index) => `t${index}`)
      const calls = Array.from({ length: 6 }, (_, index) => {
        const order = index % 2 ? ids : [...ids].reverse()
        return (index % 2 ? other : store).enqueue(order.map((id) => transactionIn(lane, id)))
      })
      const fresh = (await Promise.all(calls)).flat().filter((one) => one.fresh)
      equal(fresh.map(({ transaction }) => transaction.id).sort(), [...ids].sort(), 'what was fresh')
      const sequences = fresh.map(({ transaction }) => transaction.sequence)
      equal(
        new Set(sequences).size,
        ids.length,
        'two transactions have the same place in the order of arrival',
      )
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
    name: 'one call keeps transactions of several lanes, each in the order of its own lane',
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
          'what arrived in a lane',
        )
      }
    },
  },
  {
    name: 'an empty call keeps nothing',
    async run({ store }) {
      equal(await store.enqueue([]), [], 'what it gives back')
    },
  },
]

/** True where each number is above the one before it. */
export function risingAbove(start: number, numbers: readonly number[]): boolean {
  return numbers.every((number, index) => number > (index === 0 ? start : (numbers[index - 1] ?? start)))
}
