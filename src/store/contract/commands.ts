import type { LaneCommand } from '../../types/store.js'
import { equal, ok } from './check.js'
import type { Case } from './world.js'

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
