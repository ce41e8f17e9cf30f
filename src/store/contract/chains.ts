import type { LaneKey, Store } from '../../types/store.js'
import { equal, ok } from './check.js'
import type { Case, World } from './world.js'

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
