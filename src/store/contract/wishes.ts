import type { Wish } from '../../types/store.js'
import { equal, ok } from './check.js'
import type { Case } from './world.js'

const CANCEL: Wish = { kind: 'cancel' }

export const wishes: readonly Case[] = [
  {
    name: 'a command reaches the lease owner, in order and unchanged',
    async run({ store, other, lane, keep }) {
      await keep('a', 'b')
      const all: readonly { id: string; wish: Wish }[] = [
        { id: 'b', wish: { kind: 'speedUp', fees: { maxFeePerGas: 2n ** 65n, maxPriorityFeePerGas: 1n } } },
        { id: 'a', wish: CANCEL },
        { id: 'b', wish: { kind: 'speedUp', fees: undefined } },
        { id: 'b', wish: { kind: 'speedUp', fees: { gasPrice: 7n } } },
      ]
      for (const { id, wish } of all)
        equal(await other.wish(lane, id, wish), true, 'a command for a known transaction')
      const { wishes: seen } = await store.arrivals(lane, 0, 10)
      equal(
        seen.map(({ id, wish }) => ({ id, wish })),
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
      for (let index = 0; index < 3; index++) await store.wish(lane, 'a', CANCEL)
      const [first, second, third] = (await store.arrivals(lane, 0, 10)).wishes
      ok(first !== undefined && second !== undefined && third !== undefined, 'a command is missing')
      await write(lease, {})
      equal(
        (await other.arrivals(lane, 0, 10)).wishes,
        [first, second, third],
        'a write that reports none done',
      )
      await write(lease, { wished: second.sequence })
      equal((await other.arrivals(lane, 0, 10)).wishes, [third], 'a write that reports two done')
    },
  },
  {
    name: 'a command that no owner has executed arrives at the next owner',
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
        'a read that continues from `arrived` misses an open command',
      )
      await write(next, { wished: open[0]?.sequence })
      equal(
        (await other.arrivals(lane, (await other.load(next)).arrived, 10)).wishes,
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
        equal(await store.wish(lane, id, CANCEL), false, `a command for a transaction that is ${stage}`)
      }
      equal(await store.wish(lane, 'nobody', CANCEL), false, 'a command for an unknown id')
      equal(await store.wish(newLane(), 'a', CANCEL), false, 'a command on another chain')
      equal((await store.arrivals(lane, 0, 10)).wishes, [], 'a refused command was stored')
    },
  },
]
