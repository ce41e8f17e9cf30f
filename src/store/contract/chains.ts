import type { LaneKey, Store } from '../../types/store.js'
import { equal, ok } from './check.js'
import type { Case, World } from './world.js'

/** Lanes on two chains with one id that no other case has. */
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
    name: 'the first name of a chain is kept, and read by everybody who comes with another one',
    async run(world) {
      const { store, other } = world
      const [first, second] = lanesOfOneId(world)
      equal(await hashesOf(store, first), [first.genesisHash], 'the first name')
      equal(await hashesOf(other, second), [first.genesisHash], 'what a second name reads')
      equal(await hashesOf(store, first), [first.genesisHash], 'a second name was kept beside the first')
    },
  },
  {
    name: 'a chain is kept with its first lane or transaction, behind those that were kept before',
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
    name: 'who gives no name reads those that are kept, and keeps none',
    async run(world) {
      const { store, other } = world
      const [first, second] = lanesOfOneId(world)
      const { chainId } = first
      equal(await store.chains({ chainId }), [], 'a chain that nobody named')
      equal(await hashesOf(store, first), [first.genesisHash], 'the first name, given after that')
      equal(
        await other.chains({ chainId: second.chainId }),
        [first.genesisHash],
        'what is read by the id alone',
      )
    },
  },
  {
    name: 'of two names given at once exactly one is kept, and read by both',
    async run(world) {
      const { store, other } = world
      const [first, second] = lanesOfOneId(world)
      const read = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          index % 2 === 0 ? hashesOf(store, first) : hashesOf(other, second),
        ),
      )
      const [one] = read
      ok(one?.length === 1, 'not exactly one name was kept')
      for (const each of read) equal(each, one, 'two callers read two names')
    },
  },
]
