import { equal, ok, rejects } from './check.js'
import { type Case, LONG_MS } from './world.js'

export const leases: readonly Case[] = [
  {
    name: 'a lane is taken by one holder, and by nobody else while its time lasts',
    async run({ store, other, lane, newHolder }) {
      const holder = newHolder()
      const lease = await store.acquire(lane, holder, LONG_MS)
      ok(lease !== undefined, 'a lane that nobody has cannot be taken')
      equal({ lane: lease.lane, holder: lease.holder }, { lane, holder }, 'a lease names its lane and holder')
      ok(Number.isSafeInteger(lease.epoch), 'an epoch is a whole number')
      equal(await other.acquire(lane, newHolder(), LONG_MS), undefined, 'a lane that is held was given away')
    },
  },
  {
    name: 'a holder that takes what it has gets the same epoch again',
    async run({ store, lane, newHolder }) {
      const holder = newHolder()
      const first = await store.acquire(lane, holder, 1)
      const again = await store.acquire(lane, holder, LONG_MS)
      equal(again, first, 'the same holder got another lease')
      equal(await store.acquire(lane, newHolder(), 1), undefined, 'the second time did not prolong the first')
    },
  },
  {
    name: 'another holder takes a lane whose time has run out, with a higher epoch',
    async run({ store, other, lane, newHolder, elapse }) {
      const first = await store.acquire(lane, newHolder(), 1)
      await elapse(20)
      const second = await other.acquire(lane, newHolder(), LONG_MS)
      ok(second !== undefined, 'a lease that has run out is not given away')
      ok(second.epoch > (first?.epoch ?? 0), 'the epoch did not rise with a change of holder')
    },
  },
  {
    name: 'a lane that was given back is taken at once, with a higher epoch',
    async run({ store, other, lane, newHolder, take }) {
      const first = await take()
      await store.release(first)
      const second = await other.acquire(lane, newHolder(), LONG_MS)
      ok(second !== undefined, 'a released lane is not given away')
      ok(second.epoch > first.epoch, 'the epoch did not rise with a change of holder')
    },
  },
  {
    name: 'giving back what another has does nothing',
    async run({ store, other, lane, newHolder, take }) {
      const first = await take()
      await store.release(first)
      const second = await take()
      await other.release(first)
      equal(
        await store.acquire(lane, newHolder(), 1),
        undefined,
        'a stale release took the lane from its holder',
      )
      await store.load(second)
    },
  },
  {
    name: 'giving back a lease of an earlier epoch does nothing, also where the same holder has the lane again',
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
        'a stale release took the lane from its holder',
      )
      await store.load(again)
    },
  },
  {
    name: 'of many that try at once exactly one has the lane',
    async run({ store, other, lane, newHolder }) {
      const tries = Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? store : other).acquire(lane, newHolder(), LONG_MS),
      )
      const taken = (await Promise.all(tries)).filter((lease) => lease !== undefined)
      equal(taken.length, 1, 'several have the lane')
    },
  },
  {
    name: 'a lane is held by itself: not with the same address on another chain, nor with another address',
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
    name: 'a heartbeat gives back what is held and prolongs it, also what has run out and nobody took',
    async run({ store, other, lane, newLane, newHolder, elapse }) {
      const holder = newHolder()
      const lanes = [lane, newLane(), newLane()] as const
      const held = await Promise.all(lanes.map((one) => store.acquire(one, holder, 1)))
      await elapse(20)
      const taken = await other.acquire(lanes[2], newHolder(), LONG_MS)
      ok(taken !== undefined, 'a lease that has run out is not given away')

      const renewed = await store.renew(holder, LONG_MS)
      const byAddress = (list: readonly (typeof taken | undefined)[]) =>
        [...list].sort((a, b) => ((a?.lane.address ?? '') < (b?.lane.address ?? '') ? -1 : 1))
      equal(
        byAddress(renewed),
        byAddress(held.slice(0, 2)),
        'a heartbeat gives back what is held, and no more',
      )
      for (const one of lanes.slice(0, 2)) {
        equal(await other.acquire(one, newHolder(), 1), undefined, 'a heartbeat did not prolong a lease')
      }
      await store.load(taken)
    },
  },
  {
    name: 'a heartbeat of who holds nothing, or gave everything back, gives back nothing',
    async run({ store, newHolder, take }) {
      equal(await store.renew(newHolder(), LONG_MS), [], 'a stranger has leases')
      const lease = await take()
      await store.release(lease)
      equal(await store.renew(lease.holder, LONG_MS), [], 'a released lease was renewed')
    },
  },
  {
    name: 'P7: a lease that ends further ahead than any lease lasts has run out: its clock was set back since',
    stepped: true,
    async run({ other, lane, newHolder, take, write, setBack }) {
      const first = await take()
      await setBack(10 * LONG_MS)
      const second = await other.acquire(lane, newHolder(), LONG_MS)
      ok(second !== undefined, 'a lane was kept for as long as the clock was set back')
      ok(second.epoch > first.epoch, 'the epoch did not rise with a change of holder')
      await rejects(write(first, { cursor: 1 }), 'LEASE_LOST', 'a write of the former holder')
    },
  },
  {
    name: 'a lease outlives a clock that is set back by less than it lasts',
    stepped: true,
    async run({ store, other, lane, newHolder, take, setBack }) {
      const first = await take()
      await setBack(LONG_MS / 2)
      equal(
        await other.acquire(lane, newHolder(), 1),
        undefined,
        'a small step took the lane from its holder',
      )
      await store.renew(first.holder, LONG_MS)
      equal(await other.acquire(lane, newHolder(), 1), undefined, 'a heartbeat after the step did not count')
    },
  },
]
