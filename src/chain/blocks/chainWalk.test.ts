import fc from 'fast-check'
import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import { createWalk } from './chainWalk.js'
import type { SealedBlock } from './follower.js'

const hashOf = (name: number): Hash => `0x${name.toString(16).padStart(64, '0')}`

/** A chain that grows and is reorganised; every block ever made has a name of its own. */
function createChain(startNumber = 0) {
  let names = 0
  const blocks: SealedBlock[] = []
  const grow = (count: number) => {
    for (let step = 0; step < count; step++) {
      const parentHash = blocks.at(-1)?.hash ?? hashOf(0)
      const number = startNumber + blocks.length
      names++
      const rest = { timestamp: 0, baseFeePerGas: undefined, gasLimit: 0n, gasUsed: 0n, hashes: [] }
      blocks.push({ number, hash: hashOf(names), parentHash, ...rest })
    }
  }
  return {
    grow,
    reorg(depth: number, length: number) {
      blocks.splice(Math.max(1, blocks.length - depth))
      grow(length)
    },
    get head(): SealedBlock {
      return blocks.at(-1)!
    },
    fetch: async (numbers: readonly number[]) => numbers.map((number) => blocks[number - startNumber]!),
    has: (block: { number: number; hash: Hash }) => blocks[block.number - startNumber]?.hash === block.hash,
  }
}

describe('the walked chain', () => {
  test('a block that follows the tip joins without a fetch', async () => {
    const chain = createChain()
    const walk = createWalk({ length: 10 })
    chain.grow(3)
    await walk.advance(chain.head, chain.fetch)
    chain.grow(1)
    const never = () => Promise.reject(new Error('fetched'))
    expect(await walk.advance(chain.head, never)).toMatchObject({ left: [], came: [{ number: 3 }] })
  })

  test('missed blocks are fetched and told in order', async () => {
    const chain = createChain()
    const walk = createWalk({ length: 100 })
    chain.grow(1)
    await walk.advance(chain.head, chain.fetch)
    chain.grow(70)
    const moved = await walk.advance(chain.head, chain.fetch)
    expect(moved?.came.map(({ number }) => number)).toEqual(
      Array.from({ length: 70 }, (_, index) => index + 1),
    )
  })

  test('a head below the tip is a replica that lags: nothing leaves', async () => {
    const chain = createChain()
    const walk = createWalk({ length: 10 })
    chain.grow(3)
    const old = chain.head
    await walk.advance(old, chain.fetch)
    chain.grow(2)
    await walk.advance(chain.head, chain.fetch)
    expect(await walk.advance(old, chain.fetch)).toEqual({ left: [], came: [], jumped: false })
  })

  test('a head far above that is not shown together with what is known says nothing', async () => {
    const [chain, other] = [createChain(), createChain()]
    const walk = createWalk({ length: 10 })
    chain.grow(3)
    other.grow(1_000)
    await walk.advance(chain.head, chain.fetch)
    const tip = walk.tip
    const stray = { ...other.head, hash: hashOf(5_000) }
    chain.grow(1_500)
    expect(await walk.advance(stray, chain.fetch)).toBeUndefined()
    expect(walk.tip).toBe(tip)
    expect(await walk.advance(chain.head, chain.fetch)).toMatchObject({ left: [], jumped: true })
    expect(walk.tip?.number).toBe(chain.head.number)
  })

  test('a head that does not join costs no more than a block or two a look, however far above it is', async () => {
    for (const above of [2, 5, 33, 100, 256, 257, 1_000, 1_000_000]) {
      const chain = createChain()
      const walk = createWalk({ length: 100 })
      for (let block = 0; block < 50; block++) {
        chain.grow(1)
        await walk.advance(chain.head, chain.fetch)
      }
      const stray = {
        ...chain.head,
        number: chain.head.number + above,
        hash: hashOf(5_000),
        parentHash: hashOf(5_001),
      }
      const asked: number[] = []
      const fetch: typeof chain.fetch = async (numbers) => {
        asked.push(numbers.length)
        const blocks = await chain.fetch(numbers)
        return blocks.every(Boolean) ? blocks : (undefined as never)
      }
      for (let look = 0; look < 20; look++) expect(await walk.advance(stray, fetch)).toBeUndefined()
      expect(asked).toHaveLength(20)
      expect(Math.max(...asked.slice(1))).toBeLessThanOrEqual(2)
      // What was missed meanwhile is found in few requests all the same.
      chain.grow(200)
      asked.length = 0
      expect((await walk.advance(chain.head, fetch))?.came).toHaveLength(200)
      expect(asked.length).toBeLessThanOrEqual(12)
    }
  })

  test('blocks that could not be fetched change nothing: it is asked again', async () => {
    const chain = createChain()
    const walk = createWalk({ length: 10 })
    chain.grow(1)
    await walk.advance(chain.head, chain.fetch)
    chain.grow(4)
    expect(await walk.advance(chain.head, async () => undefined)).toBeUndefined()
    expect(walk.tip?.number).toBe(0)
  })

  test('an endpoint that loses every other request, and is always further ahead, is caught up with', async () => {
    const chain = createChain()
    const walk = createWalk({ length: 1_000 })
    chain.grow(1)
    await walk.advance(chain.head, chain.fetch)
    chain.grow(200)
    let asked = 0
    const lossy: typeof chain.fetch = async (numbers) =>
      asked++ % 2 === 0 ? chain.fetch(numbers) : (undefined as never)
    const seen: number[] = []
    for (let look = 0; look < 200 && walk.tip?.number !== chain.head.number; look++) {
      if (look % 4 === 0) chain.grow(1)
      const moved = await walk.advance(chain.head, lossy)
      expect(moved?.left ?? []).toEqual([])
      seen.push(...(moved?.came ?? []).map(({ number }) => number))
    }
    expect(walk.tip?.number).toBe(chain.head.number)
    expect(seen).toEqual(Array.from({ length: chain.head.number }, (_, index) => index + 1))
  })

  test('missed blocks that do not stand on each other, as of two forks, change nothing', async () => {
    const [chain, other] = [createChain(), createChain()]
    const walk = createWalk({ length: 10 })
    chain.grow(1)
    other.grow(9)
    await walk.advance(chain.head, chain.fetch)
    chain.grow(4)
    const torn = async (numbers: readonly number[]) => {
      const blocks = await chain.fetch(numbers)
      return blocks.map((block) => (block.number === 2 ? { ...block, parentHash: other.head.hash } : block))
    }
    expect(await walk.advance(chain.head, torn)).toBeUndefined()
    expect(walk.tip?.number).toBe(0)
    const moved = await walk.advance(chain.head, chain.fetch)
    expect(moved?.came.map(({ number }) => number)).toEqual([1, 2, 3, 4])
  })

  test('blocks below the first one that do not link to it are not known', async () => {
    const [chain, other] = [createChain(), createChain()]
    const walk = createWalk({ length: 10 })
    chain.grow(5)
    other.grow(20)
    await walk.advance(chain.head, chain.fetch)
    walk.reach(2)
    const foreign = async (numbers: readonly number[]) => numbers.map((number) => ({ ...other.head, number }))
    await walk.advance(chain.head, foreign)
    expect(walk.hashAt(2)).toBeUndefined()
    await walk.advance(chain.head, chain.fetch)
    expect(walk.hashAt(2)).toBe((await chain.fetch([2]))[0]?.hash)
  })

  test('a fork just above the first walked block takes only what is above it', async () => {
    // The walk began at 16; block 18 is replaced while five more come: looking for the fork goes below 16.
    const chain = createChain(10)
    const walk = createWalk({ length: 100 })
    chain.grow(7)
    await walk.advance(chain.head, chain.fetch)
    for (let step = 0; step < 2; step++) {
      chain.grow(1)
      await walk.advance(chain.head, chain.fetch)
    }
    const replaced = chain.head
    chain.reorg(1, 6)
    const moved = await walk.advance(chain.head, chain.fetch)
    expect(moved?.left).toEqual([{ number: 18, hash: replaced.hash }])
    expect(moved?.came[0]?.number).toBe(18)
  })

  test('the blocks that are told to have come and not to have left are the chain, whatever forks and gaps there are', async () => {
    const step = fc.record({
      reorg: fc.option(
        fc.record({ depth: fc.integer({ min: 1, max: 12 }), length: fc.integer({ min: 1, max: 30 }) }),
      ),
      grow: fc.integer({ min: 0, max: 40 }),
      look: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 30 }),
        fc.array(step, { maxLength: 20 }),
        async (first, steps) => {
          const chain = createChain()
          const walk = createWalk({ length: 64 })
          const known = new Map<number, Hash>()
          const look = async () => {
            const moved = await walk.advance(chain.head, chain.fetch)
            for (const block of moved?.left ?? []) {
              expect(known.get(block.number)).toBe(block.hash)
              expect(chain.has(block)).toBe(false)
              known.delete(block.number)
            }
            for (const block of moved?.came ?? []) {
              expect(known.has(block.number)).toBe(false)
              known.set(block.number, block.hash)
            }
            const caughtUp = walk.tip?.hash === chain.head.hash
            if (caughtUp) for (const [number, hash] of known) expect(chain.has({ number, hash })).toBe(true)
          }
          chain.grow(first)
          await look()
          for (const { reorg, grow, look: looks } of steps) {
            if (reorg) chain.reorg(reorg.depth, reorg.length)
            chain.grow(grow)
            if (looks) await look()
          }
        },
      ),
    )
  })
})
