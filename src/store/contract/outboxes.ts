import type { StoredDelivery } from '../../types/outbox.js'
import type { ChainKey } from '../../types/store.js'
import { equal, ok, rejects } from './check.js'
import { hashIn, transactionIn } from './samples.js'
import { type Case, LONG_MS, type World } from './world.js'

const chainOf = ({ lane: { chainId, genesisHash } }: Pick<World, 'lane'>): ChainKey => ({
  chainId,
  genesisHash,
})

/** An unused outbox, and the owner of its lease. */
async function taken(
  { store, newHolder }: Pick<World, 'store' | 'newHolder'>,
  name = `outbox ${newHolder()}`,
) {
  const lease = await store.takeOutbox(name, newHolder(), LONG_MS)
  ok(lease !== undefined, 'a free outbox cannot be taken')
  return { name, lease }
}

function openOf(world: Pick<World, 'lane'>, id: string, over: Partial<StoredDelivery> = {}): StoredDelivery {
  return { chain: chainOf(world), id, state: 'open', count: 0, tries: 0, ...over }
}

const byId = (deliveries: readonly StoredDelivery[]) =>
  [...deliveries].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))

/** The lane of this case, if it is behind. */
async function behindIn({ lane }: Pick<World, 'lane'>, { store }: Pick<World, 'store'>, name: string) {
  const { behind } = await store.readOutbox(name)
  return behind.find((one) => one.lane.genesisHash === lane.genesisHash && one.lane.address === lane.address)
}

export const outboxes: readonly Case[] = [
  {
    name: 'an outbox is taken by one owner, and by no other process while its lease lasts; each name is separate',
    async run({ store, other, newHolder }) {
      const { name, lease } = await taken({ store, newHolder })
      ok(Number.isSafeInteger(lease.epoch), 'an epoch is a whole number')
      equal(
        await other.takeOutbox(name, newHolder(), LONG_MS),
        undefined,
        'an outbox with an owner was given to another process',
      )
      equal(await store.takeOutbox(name, lease.holder, LONG_MS), lease, 'its owner got another lease')
      ok((await other.readOutbox(name)).isHeld, 'it is not held')
      await taken({ store: other, newHolder })
    },
  },
  {
    name: 'an outbox changes its owner after its lease expired or was released, with a higher epoch',
    async run({ store, other, newHolder, elapse }) {
      const name = `outbox ${newHolder()}`
      const first = await store.takeOutbox(name, newHolder(), 1)
      ok(first !== undefined, 'a free outbox cannot be taken')
      await elapse(20)
      ok(!(await other.readOutbox(name)).isHeld, 'it is held')
      const second = await other.takeOutbox(name, newHolder(), LONG_MS)
      ok(second !== undefined && second.epoch > first.epoch, 'the epoch did not rise')
      await store.releaseOutbox(first)
      equal(await store.takeOutbox(name, newHolder(), 1), undefined, 'a stale release took it from its owner')
      await other.releaseOutbox(second)
      const third = await store.takeOutbox(name, newHolder(), LONG_MS)
      ok(third !== undefined && third.epoch > second.epoch, 'a released outbox cannot be taken')
    },
  },
  {
    name: 'of many concurrent attempts to take an outbox exactly one succeeds',
    async run({ store, other, newHolder }) {
      const name = `outbox ${newHolder()}`
      const tries = Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? store : other).takeOutbox(name, newHolder(), LONG_MS),
      )
      const found = (await Promise.all(tries)).filter((lease) => lease !== undefined)
      equal(found.length, 1, 'the number of owners')
    },
  },
  {
    name: 'lanes are behind until an outbox has read them, for each outbox separately, and again after a change',
    async run(world) {
      const { store, other, lane, keep, take, write, newHolder } = world
      const { name, lease } = await taken(world)
      ok(!(await store.readOutbox(name)).isKnown, 'an outbox that was never written is known')
      const [a] = await keep('a', 'b')
      const { revision } = await store.changes(lane, 'now', 1)
      equal(
        await behindIn(world, { store: other }, name),
        { lane, revision, read: 0 },
        'a lane that was never read',
      )
      await store.writeOutbox(lease, { read: [{ lane, revision }], deliveries: [] })
      ok((await other.readOutbox(name)).isKnown, 'an outbox that was written is not known')
      equal(await behindIn(world, { store: other }, name), undefined, 'a lane that was read')
      equal((await behindIn(world, { store }, `not ${newHolder()}`))?.read, 0, 'for another outbox')
      await store.writeOutbox(lease, { read: [{ lane, revision: 1 }], deliveries: [] })
      equal(await behindIn(world, { store }, name), undefined, 'after a lower revision')
      await write(await take(), { transactions: [{ ...a, stage: 'sealed' } as never] })
      const changed = await behindIn(world, { store: other }, name)
      equal(changed?.read, revision, 'the revision from which it continues')
      const news = await other.changes(lane, revision, 9)
      equal(
        [news.transactions.map(({ id }) => id), news.revision],
        [['a'], changed?.revision],
        'the new lane',
      )
    },
  },
  {
    name: 'deliveries are stored unchanged, replace the former ones, and are found by id and by state',
    async run(world) {
      const { store, other, lane, newLane, keep } = world
      const ids = ['a', 'b "ü\u{1f600}', 'c']
      await keep(...ids)
      await store.enqueue([transactionIn(newLane(), 'a')])
      const { name, lease } = await taken(world)
      const [a, b, c] = ids.map((id) => openOf(world, id)) as [StoredDelivery, StoredDelivery, StoredDelivery]
      await store.writeOutbox(lease, { read: [], deliveries: [a, b, c] })
      const block = hashIn(lane, 'block')
      const full = openOf(world, 'a', {
        delivered: { stage: 'sealed', life: 1, block },
        next: { stage: 'reorged', life: 1 },
        count: 3,
        tries: 2,
        failure: 'HTTP 500: "no"\nnew line',
        sinceMs: 1_700_000_000_000,
      })
      const dead: StoredDelivery = { ...b, state: 'dead', tries: 5, failure: 'gone' }
      const delivered: StoredDelivery = {
        ...c,
        state: 'delivered',
        delivered: { stage: 'failed', life: 0 },
        count: 1,
      }
      await store.writeOutbox(lease, { read: [], deliveries: [full, dead, delivered] })
      const chain = chainOf(world)
      for (const by of [store, other]) {
        equal(
          byId(await by.deliveries(name, { chain, ids: [...ids, 'x'] })),
          [full, dead, delivered],
          'by their ids',
        )
        equal(await by.deliveries(name, { state: 'open', limit: 9 }), [full], 'the open deliveries')
        equal(
          await by.deliveries(name, { state: 'dead', limit: 9 }),
          [dead],
          'the deliveries that were given up',
        )
        equal(await by.deliveries(name, { state: 'open', limit: 0 }), [], 'at most the limit')
        const { open, dead: given } = await by.readOutbox(name)
        equal([open, given], [1, 1], 'the counts')
        const { chainId, genesisHash } = newLane()
        equal(
          await by.deliveries(name, { chain: { chainId, genesisHash }, ids }),
          [],
          'deliveries of an unknown chain',
        )
        equal(await by.deliveries(`not ${name}`, { chain, ids }), [], 'deliveries under an unknown name')
      }
    },
  },
  {
    name: 'each outbox has its own deliveries, and a delivery of an unknown transaction is ignored',
    async run(world) {
      const { store, other, keep } = world
      await keep('a')
      const [first, second] = [await taken(world), await taken({ ...world, store: other })]
      const chain = chainOf(world)
      await store.writeOutbox(first.lease, {
        read: [],
        deliveries: [openOf(world, 'a'), openOf(world, 'gone')],
      })
      equal(
        await store.deliveries(first.name, { chain, ids: ['a', 'gone'] }),
        [openOf(world, 'a')],
        'the deliveries of the first outbox',
      )
      equal((await store.readOutbox(first.name)).open, 1, 'the open deliveries of the first outbox')
      equal(
        await other.deliveries(second.name, { chain, ids: ['a', 'gone'] }),
        [],
        'the deliveries of the second outbox',
      )
    },
  },
  {
    name: 'P7: a write of an outbox with an old epoch rejects with LEASE_LOST, and writes nothing',
    async run(world) {
      const { store, other, lane, keep, newHolder } = world
      await keep('a')
      const { name, lease } = await taken(world)
      await store.releaseOutbox(lease)
      const next = await other.takeOutbox(name, newHolder(), LONG_MS)
      ok(next !== undefined, 'a released outbox cannot be taken')
      const change = { read: [{ lane, revision: 1 }], deliveries: [openOf(world, 'a')] }
      await rejects(store.writeOutbox(lease, change), 'LEASE_LOST', 'a write with an old epoch')
      const forged = { ...next, holder: newHolder() }
      await rejects(
        store.writeOutbox(forged, change),
        'LEASE_LOST',
        'a write with a lease that was never given',
      )
      equal(
        await other.deliveries(name, { chain: chainOf(world), ids: ['a'] }),
        [],
        'the traces of the refused write',
      )
      equal((await behindIn(world, { store: other }, name))?.read, 0, 'the revision up to which it was read')
      await other.writeOutbox(next, change)
      equal((await store.readOutbox(name)).open, 1, 'the write of its owner')
    },
  },
  {
    name: 'a delivery stays with its transaction when that restarts, in its lane or in another one',
    async run(world) {
      const { store, lane, newLane, keep, take, write } = world
      const [kept] = await keep('a')
      const { name, lease } = await taken(world)
      const delivered: StoredDelivery = {
        ...openOf(world, 'a'),
        state: 'delivered',
        delivered: { stage: 'failed', life: 0 },
        count: 1,
      }
      const ended = { ...kept, stage: 'failed' } as typeof kept & { stage: 'failed' }
      await write(await take(), { transactions: [ended as never] })
      await store.writeOutbox(lease, { read: [], deliveries: [delivered] })
      await store.restart(transactionIn({ ...lane, address: newLane().address }, 'a'), ended as never)
      equal(await store.deliveries(name, { chain: chainOf(world), ids: ['a'] }), [delivered], 'its delivery')
    },
  },
  {
    name: 'an outbox survives the store that wrote it',
    shared: true,
    async run(world) {
      const { store, other, keep, newHolder } = world
      await keep('a')
      const { name, lease } = await taken(world)
      await store.writeOutbox(lease, { read: [], deliveries: [openOf(world, 'a')] })
      await store.close()
      equal(
        await other.deliveries(name, { state: 'open', limit: 9 }),
        [openOf(world, 'a')],
        'the open deliveries',
      )
      equal(
        await other.takeOutbox(name, newHolder(), LONG_MS),
        undefined,
        'its lease was given to another process',
      )
    },
  },
]
