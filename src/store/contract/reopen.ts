import { equal, ok } from './check.js'
import { hashIn, liveIn, richSlots, richTransactions } from './samples.js'
import { type Case, LONG_MS } from './world.js'

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
