import { equal, ok, rejects } from './check.js'
import { liveIn, transactionIn } from './samples.js'
import { type Case, LONG_MS } from './world.js'

export const fencing: readonly Case[] = [
  {
    name: 'P7: a write with an old epoch rejects with LEASE_LOST, and writes nothing',
    async run({ store, other, lane, keep, take, write }) {
      const [kept] = await keep('a')
      ok(
        kept !== undefined && (await store.postCommand(lane, 'a', { kind: 'cancel' })),
        'the command cannot be left',
      )
      const old = await take()
      await write(old, { cursor: 4 })
      await store.release(old)
      const lease = await take()
      const before = await store.load(lease)

      const change = {
        slots: [liveIn(lane, 7, 'a', 'a1')],
        transactions: [{ ...kept, stage: 'failed' as const }, transactionIn(lane, 'b')],
        cursor: 99,
        commandsDoneUpTo: 1_000,
      }
      await rejects(write(old, change), 'LEASE_LOST', 'a write with an old epoch')
      await rejects(other.write(old, change), 'LEASE_LOST', 'a write with an old epoch by another connection')

      equal(await store.load(lease), before, 'a refused write left something behind')
      equal(await store.find(lane, { id: 'b' }), undefined, 'a refused write left a transaction behind')
      equal((await store.arrivals(lane, 0, 10)).commands.length, 1, 'a refused write deleted a command')
    },
  },
  {
    name: 'P7: a load with an old epoch rejects with LEASE_LOST',
    async run({ store, other, take }) {
      const old = await take()
      await store.release(old)
      await take()
      await rejects(store.load(old), 'LEASE_LOST', 'a load with an old epoch')
      await rejects(other.load(old), 'LEASE_LOST', 'a load with an old epoch by another connection')
    },
  },
  {
    name: 'P7: a lease with the epoch of another owner, or with a future epoch, is not valid',
    async run({ store, take, write }) {
      const lease = await take()
      const forged = { ...lease, holder: `${lease.holder}-not` }
      const ahead = { ...lease, epoch: lease.epoch + 1 }
      for (const wrong of [forged, ahead]) {
        await rejects(write(wrong, { cursor: 1 }), 'LEASE_LOST', 'a write with a lease that was never given')
        await rejects(store.load(wrong), 'LEASE_LOST', 'a load with a lease that was never given')
      }
    },
  },
  {
    name: 'an expired lease is valid until another process takes the lane',
    async run({ store, lane, newHolder, elapse, write }) {
      const lease = await store.acquire(lane, newHolder(), 1)
      ok(lease !== undefined, 'a free lane cannot be taken')
      await elapse(20)
      await write(lease, { cursor: 5 })
      equal((await store.load(lease)).cursor, 5, 'the write is missing')
      await store.acquire(lane, newHolder(), LONG_MS)
      await rejects(write(lease, { cursor: 6 }), 'LEASE_LOST', 'a write with a lease that was taken')
    },
  },
  {
    name: 'P7: a later epoch reads after every write of an earlier one',
    async run({ store, other, lane, newHolder, elapse }) {
      const lease = await store.acquire(lane, newHolder(), 1)
      ok(lease !== undefined, 'a free lane cannot be taken')
      await elapse(20)
      const writes = Array.from({ length: 12 }, (_, nonce) =>
        store
          .write(lease, { slots: [liveIn(lane, nonce, 'a', `a${nonce}`)], transactions: [], cursor: nonce })
          .then(
            () => nonce,
            () => undefined,
          ),
      )
      const next = await other.acquire(lane, newHolder(), LONG_MS)
      ok(next !== undefined, 'an expired lease cannot be taken')
      const { slots } = await other.load(next)
      const written = (await Promise.all(writes)).filter((nonce) => nonce !== undefined)
      equal(
        slots.map(({ nonce }) => nonce).sort((a, b) => a - b),
        written,
        'the later epoch does not see exactly the acknowledged writes',
      )
    },
  },
]
