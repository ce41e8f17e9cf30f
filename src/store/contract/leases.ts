import type { LaneKey, Store } from '../../types/store.js'
import { equal, ok, rejects } from './check.js'
import { liveIn, transactionIn } from './samples.js'
import { type Case, LONG_MS, type World } from './world.js'

export const leases: readonly Case[] = [
  {
    name: 'a lane is taken by one owner, and by no other process while the lease lasts',
    async run({ store, other, lane, newHolder }) {
      const holder = newHolder()
      const lease = await store.acquire(lane, holder, LONG_MS)
      ok(lease !== undefined, 'a free lane cannot be taken')
      equal(
        { lane: lease.lane, holder: lease.holder },
        { lane, holder },
        'a lease contains its lane and owner',
      )
      ok(Number.isSafeInteger(lease.epoch), 'an epoch is a whole number')
      equal(
        await other.acquire(lane, newHolder(), LONG_MS),
        undefined,
        'a lane with an owner was given to another process',
      )
    },
  },
  {
    name: 'an owner that takes its own lane again gets the same epoch',
    async run({ store, lane, newHolder }) {
      const holder = newHolder()
      const first = await store.acquire(lane, holder, 1)
      const again = await store.acquire(lane, holder, LONG_MS)
      equal(again, first, 'the same owner got another lease')
      equal(
        await store.acquire(lane, newHolder(), 1),
        undefined,
        'the second call did not extend the first lease',
      )
    },
  },
  {
    name: 'another process takes a lane whose lease has expired, with a higher epoch',
    async run({ store, other, lane, newHolder, elapse }) {
      const first = await store.acquire(lane, newHolder(), 1)
      await elapse(20)
      const second = await other.acquire(lane, newHolder(), LONG_MS)
      ok(second !== undefined, 'an expired lease cannot be taken')
      ok(second.epoch > (first?.epoch ?? 0), 'the epoch did not rise with a change of owner')
    },
  },
  {
    name: 'a released lane is taken at once, with a higher epoch',
    async run({ store, other, lane, newHolder, take }) {
      const first = await take()
      await store.release(first)
      const second = await other.acquire(lane, newHolder(), LONG_MS)
      ok(second !== undefined, 'a released lane cannot be taken')
      ok(second.epoch > first.epoch, 'the epoch did not rise with a change of owner')
    },
  },
  {
    name: 'releasing the lease of another owner has no effect',
    async run({ store, other, lane, newHolder, take }) {
      const first = await take()
      await store.release(first)
      const second = await take()
      await other.release(first)
      equal(
        await store.acquire(lane, newHolder(), 1),
        undefined,
        'a stale release took the lane from its owner',
      )
      await store.load(second)
    },
  },
  {
    name: 'releasing a lease of an earlier epoch has no effect, even if the same owner has the lane again',
    async run({ store, other, lane, newHolder, take }) {
      const first = await take()
      await store.release(first)
      await store.release(await take())
      const again = await store.acquire(lane, first.holder, LONG_MS)
      ok(again !== undefined && again.epoch > first.epoch, 'the lane cannot be taken again')
      await other.release(first)
      equal(
        await other.acquire(lane, newHolder(), 1),
        undefined,
        'a stale release took the lane from its owner',
      )
      await store.load(again)
    },
  },
  {
    name: 'of many concurrent attempts exactly one gets the lane',
    async run({ store, other, lane, newHolder }) {
      const tries = Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? store : other).acquire(lane, newHolder(), LONG_MS),
      )
      const taken = (await Promise.all(tries)).filter((lease) => lease !== undefined)
      equal(taken.length, 1, 'several processes have the lane')
    },
  },
  {
    name: 'a lease covers one lane only: not the same address on another chain, and not another address',
    async run({ store, lane, newLane, take }) {
      await take()
      ok(
        (await store.acquire({ ...lane, chainId: 1 }, 'x', 1)) !== undefined,
        'the chain id makes no difference',
      )
      const { genesisHash, address } = newLane()
      ok(
        (await store.acquire({ ...lane, genesisHash }, 'x', 1)) !== undefined,
        'the genesis makes no difference',
      )
      ok((await store.acquire({ ...lane, address }, 'x', 1)) !== undefined, 'the address makes no difference')
    },
  },
  {
    name: 'a heartbeat returns and extends its leases, including an expired one that no other process took',
    async run({ store, other, lane, newLane, newHolder, elapse }) {
      const holder = newHolder()
      const lanes = [lane, newLane(), newLane()] as const
      const held = await Promise.all(lanes.map((one) => store.acquire(one, holder, 1)))
      await elapse(20)
      const taken = await other.acquire(lanes[2], newHolder(), LONG_MS)
      ok(taken !== undefined, 'an expired lease cannot be taken')

      const renewed = await store.renew(holder, LONG_MS)
      const byAddress = (list: readonly (typeof taken | undefined)[]) =>
        [...list].sort((a, b) => ((a?.lane.address ?? '') < (b?.lane.address ?? '') ? -1 : 1))
      equal(
        byAddress(renewed),
        byAddress(held.slice(0, 2)),
        'a heartbeat does not return exactly the leases of its owner',
      )
      for (const one of lanes.slice(0, 2)) {
        equal(await other.acquire(one, newHolder(), 1), undefined, 'a heartbeat did not extend a lease')
      }
      await store.load(taken)
    },
  },
  {
    name: 'a heartbeat of a process without leases, or after it released all, returns nothing',
    async run({ store, newHolder, take }) {
      equal(await store.renew(newHolder(), LONG_MS), [], 'an unknown owner has leases')
      const lease = await take()
      await store.release(lease)
      equal(await store.renew(lease.holder, LONG_MS), [], 'a released lease was renewed')
    },
  },
  {
    name: 'P7: a lease that ends further ahead than any lease lasts has expired: its clock was set back since',
    stepped: true,
    async run({ other, lane, newHolder, take, write, setBack }) {
      const first = await take()
      await setBack(10 * LONG_MS)
      const second = await other.acquire(lane, newHolder(), LONG_MS)
      ok(second !== undefined, 'a lane was blocked for as long as the clock was set back')
      ok(second.epoch > first.epoch, 'the epoch did not rise with a change of owner')
      await rejects(write(first, { cursor: 1 }), 'LEASE_LOST', 'a write of the former owner')
    },
  },
  {
    name: 'a lease survives a clock step back that is shorter than the lease',
    stepped: true,
    async run({ store, other, lane, newHolder, take, setBack }) {
      const first = await take()
      await setBack(LONG_MS / 2)
      equal(await other.acquire(lane, newHolder(), 1), undefined, 'a small step took the lane from its owner')
      await store.renew(first.holder, LONG_MS)
      equal(await other.acquire(lane, newHolder(), 1), undefined, 'a heartbeat after the step did not count')
    },
  },
]

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

/** Lanes on two chains with one chain id that no other case has. */
function lanesOfOneId({ newLane }: World): readonly [LaneKey, LaneKey] {
  const lane = newLane()
  const chainId = Number.parseInt(lane.address.slice(2, 14), 16)
  return [
    { ...lane, chainId },
    { ...newLane(), chainId },
  ]
}

const hashesOf = (store: Store, { chainId, genesisHash }: LaneKey) => store.chains({ chainId, genesisHash })

export const chains: readonly Case[] = [
  {
    name: 'the first genesis hash of a chain id is stored, and returned to every caller with another one',
    async run(world) {
      const { store, other } = world
      const [first, second] = lanesOfOneId(world)
      equal(await hashesOf(store, first), [first.genesisHash], 'the first genesis hash')
      equal(await hashesOf(other, second), [first.genesisHash], 'the result for a second genesis hash')
      equal(
        await hashesOf(store, first),
        [first.genesisHash],
        'a second genesis hash was stored beside the first',
      )
    },
  },
  {
    name: 'a chain is stored with its first lane or transaction, behind the chains stored before',
    async run(world) {
      const { store, other, newHolder } = world
      const [first, second] = lanesOfOneId(world)
      await store.acquire(first, newHolder(), 1)
      await store.acquire(second, newHolder(), 1)
      const both = [first.genesisHash, second.genesisHash]
      equal(await hashesOf(other, second), both, 'the chains with this id')
      equal(await hashesOf(store, first), both, 'the chains with this id')
    },
  },
  {
    name: 'a call without a genesis hash returns the stored ones, and stores none',
    async run(world) {
      const { store, other } = world
      const [first, second] = lanesOfOneId(world)
      const { chainId } = first
      equal(await store.chains({ chainId }), [], 'a chain that was never stored')
      equal(await hashesOf(store, first), [first.genesisHash], 'the first genesis hash, given afterwards')
      equal(
        await other.chains({ chainId: second.chainId }),
        [first.genesisHash],
        'the result of a call with the chain id alone',
      )
    },
  },
  {
    name: 'of two genesis hashes given at once exactly one is stored, and returned to both callers',
    async run(world) {
      const { store, other } = world
      const [first, second] = lanesOfOneId(world)
      const read = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          index % 2 === 0 ? hashesOf(store, first) : hashesOf(other, second),
        ),
      )
      const [one] = read
      ok(one?.length === 1, 'not exactly one genesis hash was stored')
      for (const each of read) equal(each, one, 'two callers got two genesis hashes')
    },
  },
]
