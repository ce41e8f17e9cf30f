import { equal, ok } from './check.js'
import { attemptIn, hashIn, liveIn, transactionIn } from './samples.js'
import type { Case } from './world.js'

export const find: readonly Case[] = [
  {
    name: 'a transaction is found by its id, on its chain only',
    async run({ store, other, lane, newLane, keep }) {
      const [kept] = await keep('a', 'A', 'ä "\\ 1')
      for (const by of [store, other]) {
        equal(await by.find(lane, { id: 'a' }), kept, 'the transaction found by an id')
        equal((await by.find(lane, { id: 'A' }))?.id, 'A', 'ids that differ in case are different ids')
        equal((await by.find(lane, { id: 'ä "\\ 1' }))?.id, 'ä "\\ 1', 'an id of other letters')
        equal(await by.find(lane, { id: 'b' }), undefined, 'an unknown id')
        equal(await by.find(newLane(), { id: 'a' }), undefined, 'an id on another chain')
        equal(await by.find({ ...lane, chainId: 1 }, { id: 'a' }), undefined, 'an id on another chain')
      }
    },
  },
  {
    name: 'a transaction is found by every hash that was ever journaled for it, in its current state',
    async run({ store, other, lane, newLane, keep, take, write }) {
      const lease = await take()
      const [a] = await keep('a')
      ok(a !== undefined, 'it was not stored')
      await write(lease, { slots: [liveIn(lane, 0, 'a', 'a1')] })
      await write(lease, { slots: [liveIn(lane, 0, 'a', 'a1', 'a2')] })
      const landed = { ...a, stage: 'sealed' as const, hash: hashIn(lane, 'a1'), nonce: 0 }
      await write(lease, { transactions: [landed], slots: [liveIn(lane, 1, 'a', 'a3')] })
      const gone = [0, 1].map((nonce) => ({ state: 'final', nonce, attempts: [] }) as const)
      await write(lease, { slots: gone, transactions: [{ ...landed, stage: 'finalized' }] })
      for (const name of ['a1', 'a2', 'a3']) {
        const hash = hashIn(lane, name)
        equal(
          await other.find(lane, { hash }),
          { ...landed, stage: 'finalized' },
          `the transaction found by ${name}`,
        )
        equal(await store.find(newLane(), { hash }), undefined, 'a hash on another chain')
      }
      equal(await store.find(lane, { hash: hashIn(lane, 'b1') }), undefined, 'an unknown hash')
    },
  },
  {
    name: 'a transaction is found by the hash that is written with it, for example of outside bytes',
    async run({ store, lane, take, write }) {
      const one = transactionIn(lane, 'a', { stage: 'accepted', sequence: 1, hash: hashIn(lane, 'out') })
      await write(await take(), { transactions: [one] })
      equal(await store.find(lane, { hash: hashIn(lane, 'out') }), one, 'the transaction found by its hash')
    },
  },
  {
    name: 'each attempt of one slot leads to its own transaction, and a no-op to none',
    async run({ store, lane, keep, take, write }) {
      await keep('a', 'b')
      const slot = liveIn(lane, 0, 'b')
      const attempts = [
        attemptIn(lane, 'a', 'a1'),
        attemptIn(lane, 'b', 'b1'),
        attemptIn(lane, undefined, 'n1'),
      ]
      await write(await take(), { slots: [{ ...slot, attempts }] })
      equal((await store.find(lane, { hash: hashIn(lane, 'a1') }))?.id, 'a', 'the replaced transaction')
      equal((await store.find(lane, { hash: hashIn(lane, 'b1') }))?.id, 'b', 'the replacement')
      equal(await store.find(lane, { hash: hashIn(lane, 'n1') }), undefined, 'a no-op')
    },
  },
]
