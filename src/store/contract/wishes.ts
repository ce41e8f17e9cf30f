import type { Wish } from '../../types/store.js'
import { equal, ok } from './check.js'
import type { Case } from './world.js'

const CANCEL: Wish = { kind: 'cancel' }

export const wishes: readonly Case[] = [
  {
    name: 'a wish reaches the holder, in order and as it was wished',
    async run({ store, other, lane, keep }) {
      await keep('a', 'b')
      const all: readonly { id: string; wish: Wish }[] = [
        { id: 'b', wish: { kind: 'speedUp', fees: { maxFeePerGas: 2n ** 65n, maxPriorityFeePerGas: 1n } } },
        { id: 'a', wish: CANCEL },
        { id: 'b', wish: { kind: 'speedUp', fees: undefined } },
        { id: 'b', wish: { kind: 'speedUp', fees: { gasPrice: 7n } } },
      ]
      for (const { id, wish } of all)
        equal(await other.wish(lane, id, wish), true, 'a wish for what is known')
      const { wishes: seen } = await store.arrivals(lane, 0, 10)
      equal(
        seen.map(({ id, wish }) => ({ id, wish })),
        all,
        'what the holder reads',
      )
    },
  },
  {
    name: 'a wish stays until a write says that it is done, and those above it stay',
    async run({ store, other, lane, keep, take, write }) {
      await keep('a')
      const lease = await take()
      for (let index = 0; index < 3; index++) await store.wish(lane, 'a', CANCEL)
      const [first, second, third] = (await store.arrivals(lane, 0, 10)).wishes
      ok(first !== undefined && second !== undefined && third !== undefined, 'a wish is not there')
      await write(lease, {})
      equal((await other.arrivals(lane, 0, 10)).wishes, [first, second, third], 'a write that has done none')
      await write(lease, { wished: second.sequence })
      equal((await other.arrivals(lane, 0, 10)).wishes, [third], 'a write that has done two')
    },
  },
  {
    name: 'a wish that no holder has done arrives at the next one',
    async run({ store, other, lane, keep, take, write }) {
      await keep('a')
      const lease = await take()
      await store.wish(lane, 'a', CANCEL)
      await keep('b')
      await store.release(lease)
      const next = await take()
      const { arrived } = await other.load(next)
      const { wishes: open } = await other.arrivals(lane, arrived, 10)
      equal(
        open.map(({ id }) => id),
        ['a'],
        'going on from `arrived` misses a wish that is open',
      )
      await write(next, { wished: open[0]?.sequence })
      equal((await other.arrivals(lane, (await other.load(next)).arrived, 10)).wishes, [], 'it is done')
    },
  },
  {
    name: 'a wish for what is not known, or has ended, is none',
    async run({ store, lane, newLane, keep, take, write }) {
      const kept = await keep('a', 'b', 'c', 'd')
      const stages = ['finalized', 'failed', 'cancelled', 'superseded'] as const
      const transactions = kept.map((one, index) => ({ ...one, stage: stages[index] ?? 'failed' }))
      await write(await take(), { transactions })
      for (const { id, stage } of transactions) {
        equal(await store.wish(lane, id, CANCEL), false, `a wish for what is ${stage}`)
      }
      equal(await store.wish(lane, 'nobody', CANCEL), false, 'a wish for an unknown id')
      equal(await store.wish(newLane(), 'a', CANCEL), false, 'a wish on another chain')
      equal((await store.arrivals(lane, 0, 10)).wishes, [], 'a wish that was refused was kept')
    },
  },
]
