import type { StoredDelivery } from '../../types/outbox.js'
import type { ChainKey } from '../../types/store.js'
import { equal, ok, rejects } from './check.js'
import { hashIn, transactionIn } from './samples.js'
import { type Case, LONG_MS, type World } from './world.js'

const chainOf = ({ lane: { chainId, genesisHash } }: Pick<World, 'lane'>): ChainKey => ({
  chainId,
  genesisHash,
})

/** An outbox that nobody knows yet, and who has its lease. */
async function taken(
  { store, newHolder }: Pick<World, 'store' | 'newHolder'>,
  name = `outbox ${newHolder()}`,
) {
  const lease = await store.takeOutbox(name, newHolder(), LONG_MS)
  ok(lease !== undefined, 'an outbox that nobody has cannot be taken')
  return { name, lease }
}

function openOf(world: Pick<World, 'lane'>, id: string, over: Partial<StoredDelivery> = {}): StoredDelivery {
  return { chain: chainOf(world), id, state: 'open', count: 0, tries: 0, ...over }
}

const byId = (deliveries: readonly StoredDelivery[]) =>
  [...deliveries].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))

/** Of the lanes that are behind, the one of the case. */
async function behindIn({ lane }: Pick<World, 'lane'>, { store }: Pick<World, 'store'>, name: string) {
  const { behind } = await store.readOutbox(name)
  return behind.find((one) => one.lane.genesisHash === lane.genesisHash && one.lane.address === lane.address)
}

export const outboxes: readonly Case[] = [
  {
    name: 'an outbox is taken by one holder, and by nobody else while its time lasts; names are apart',
    async run({ store, other, newHolder }) {
      const { name, lease } = await taken({ store, newHolder })
      ok(Number.isSafeInteger(lease.epoch), 'an epoch is a whole number')
      equal(
        await other.takeOutbox(name, newHolder(), LONG_MS),
        undefined,
        'an outbox that is held was given away',
      )
      equal(await store.takeOutbox(name, lease.holder, LONG_MS), lease, 'its holder got another lease')
      ok((await other.readOutbox(name)).isHeld, 'it is not held')
      await taken({ store: other, newHolder })
    },
  },
  {
    name: 'an outbox changes hands when its time has run out, or it was given back, with a higher epoch',
    async run({ store, other, newHolder, elapse }) {
      const name = `outbox ${newHolder()}`
      const first = await store.takeOutbox(name, newHolder(), 1)
      ok(first !== undefined, 'an outbox that nobody has cannot be taken')
      await elapse(20)
      ok(!(await other.readOutbox(name)).isHeld, 'it is held')
      const second = await other.takeOutbox(name, newHolder(), LONG_MS)
      ok(second !== undefined && second.epoch > first.epoch, 'the epoch did not rise')
      await store.releaseOutbox(first)
      equal(
        await store.takeOutbox(name, newHolder(), 1),
        undefined,
        'a stale release took it from its holder',
      )
      await other.releaseOutbox(second)
      const third = await store.takeOutbox(name, newHolder(), LONG_MS)
      ok(third !== undefined && third.epoch > second.epoch, 'an outbox that was given back cannot be taken')
    },
  },
  {
    name: 'of many that try to take an outbox at once exactly one has it',
    async run({ store, other, newHolder }) {
      const name = `outbox ${newHolder()}`
      const tries = Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? store : other).takeOutbox(name, newHolder(), LONG_MS),
      )
      const found = (await Promise.all(tries)).filter((lease) => lease !== undefined)
      equal(found.length, 1, 'how many have it')
    },
  },
  {
    name: 'lanes are behind until an outbox has read them, each outbox by itself, and again once they change',
    async run(world) {
      const { store, other, lane, keep, take, write, newHolder } = world
      const { name, lease } = await taken(world)
      ok(!(await store.readOutbox(name)).isKnown, 'an outbox that was never written is known')
      const [a] = await keep('a', 'b')
      const { revision } = await store.changes(lane, 'now', 1)
      equal(await behindIn(world, { store: other }, name), { lane, revision, read: 0 }, 'what was never read')
      await store.writeOutbox(lease, { read: [{ lane, revision }], deliveries: [] })
      ok((await other.readOutbox(name)).isKnown, 'an outbox that was written is not known')
      equal(await behindIn(world, { store: other }, name), undefined, 'a lane that was read')
      equal((await behindIn(world, { store }, `not ${newHolder()}`))?.read, 0, 'for another outbox')
      await store.writeOutbox(lease, { read: [{ lane, revision: 1 }], deliveries: [] })
      equal(await behindIn(world, { store }, name), undefined, 'after a lower revision')
      await write(await take(), { transactions: [{ ...a, stage: 'sealed' } as never] })
      const changed = await behindIn(world, { store: other }, name)
      equal(changed?.read, revision, 'where it goes on from')
      const news = await other.changes(lane, revision, 9)
      equal([news.transactions.map(({ id }) => id), news.revision], [['a'], changed?.revision], 'what is new')
    },
  },
  {
    name: 'deliveries are kept as they are, in the place of what was there, and found by id and by state',
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
        told: { stage: 'sealed', life: 1, block },
        next: { stage: 'reorged', life: 1 },
        count: 3,
        tries: 2,
        failure: 'HTTP 500: "no"\nnew line',
        sinceMs: 1_700_000_000_000,
      })
      const dead: StoredDelivery = { ...b, state: 'dead', tries: 5, failure: 'gone' }
      const told: StoredDelivery = { ...c, state: 'told', told: { stage: 'failed', life: 0 }, count: 1 }
      await store.writeOutbox(lease, { read: [], deliveries: [full, dead, told] })
      const chain = chainOf(world)
      for (const by of [store, other]) {
        equal(
          byId(await by.deliveries(name, { chain, ids: [...ids, 'x'] })),
          [full, dead, told],
          'by their ids',
        )
        equal(await by.deliveries(name, { state: 'open', limit: 9 }), [full], 'those that are open')
        equal(await by.deliveries(name, { state: 'dead', limit: 9 }), [dead], 'those that were given up')
        equal(await by.deliveries(name, { state: 'open', limit: 0 }), [], 'no more than the limit')
        const { open, dead: given } = await by.readOutbox(name)
        equal([open, given], [1, 1], 'how many there are')
        const { chainId, genesisHash } = newLane()
        equal(
          await by.deliveries(name, { chain: { chainId, genesisHash }, ids }),
          [],
          'of a chain that nobody knows',
        )
        equal(await by.deliveries(`not ${name}`, { chain, ids }), [], 'under a name that nobody knows')
      }
    },
  },
  {
    name: 'each outbox has deliveries of its own, and one of a transaction that is not kept is no delivery',
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
        'of the first',
      )
      equal((await store.readOutbox(first.name)).open, 1, 'how many of the first are open')
      equal(await other.deliveries(second.name, { chain, ids: ['a', 'gone'] }), [], 'of the second')
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
      ok(next !== undefined, 'an outbox that was given back cannot be taken')
      const change = { read: [{ lane, revision: 1 }], deliveries: [openOf(world, 'a')] }
      await rejects(store.writeOutbox(lease, change), 'LEASE_LOST', 'a write with an old epoch')
      const forged = { ...next, holder: newHolder() }
      await rejects(
        store.writeOutbox(forged, change),
        'LEASE_LOST',
        'a write with a lease that nobody was given',
      )
      equal(await other.deliveries(name, { chain: chainOf(world), ids: ['a'] }), [], 'what was left behind')
      equal((await behindIn(world, { store: other }, name))?.read, 0, 'how far it was read')
      await other.writeOutbox(next, change)
      equal((await store.readOutbox(name)).open, 1, 'what its holder wrote')
    },
  },
  {
    name: 'a delivery stays with its transaction where that begins anew, in its lane or in another one',
    async run(world) {
      const { store, lane, newLane, keep, take, write } = world
      const [kept] = await keep('a')
      const { name, lease } = await taken(world)
      const told: StoredDelivery = {
        ...openOf(world, 'a'),
        state: 'told',
        told: { stage: 'failed', life: 0 },
        count: 1,
      }
      const ended = { ...kept, stage: 'failed' } as typeof kept & { stage: 'failed' }
      await write(await take(), { transactions: [ended as never] })
      await store.writeOutbox(lease, { read: [], deliveries: [told] })
      await store.restart(transactionIn({ ...lane, address: newLane().address }, 'a'), ended as never)
      equal(
        await store.deliveries(name, { chain: chainOf(world), ids: ['a'] }),
        [told],
        'what was told of it',
      )
    },
  },
  {
    name: 'an outbox outlives the store that wrote it',
    shared: true,
    async run(world) {
      const { store, other, keep, newHolder } = world
      await keep('a')
      const { name, lease } = await taken(world)
      await store.writeOutbox(lease, { read: [], deliveries: [openOf(world, 'a')] })
      await store.close()
      equal(await other.deliveries(name, { state: 'open', limit: 9 }), [openOf(world, 'a')], 'what is open')
      equal(await other.takeOutbox(name, newHolder(), LONG_MS), undefined, 'it was given away')
    },
  },
]
