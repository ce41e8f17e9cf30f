import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import { createWalk } from './chainWalk.js'
import type { SealedBlock } from './follower.js'

const hashOf = (fork: number, number: number): Hash =>
  `0x${(fork * 1_000 + number).toString(16).padStart(64, '0')}`

/** Blocks up to `shared` belong to fork 0. */
function forkOf(fork: number, length: number, shared = length): SealedBlock[] {
  const at = (number: number) => hashOf(number <= shared ? 0 : fork, number)
  return Array.from({ length }, (_, number) => ({
    number,
    hash: at(number),
    parentHash: at(number - 1),
    timestamp: 0,
    baseFeePerGas: undefined,
    gasLimit: 0n,
    gasUsed: 0n,
    hashes: [],
  }))
}

const shows = (blocks: readonly SealedBlock[]) => async (numbers: readonly number[]) =>
  numbers.map((number) => blocks[number] as SealedBlock)
const numbers = (blocks: readonly { number: number }[] | undefined) => blocks?.map(({ number }) => number)

async function walked(length: number) {
  const walk = createWalk({ length: 64 })
  const blocks = forkOf(0, length)
  for (const block of blocks) await walk.advance(block, shows(blocks))
  return walk
}

describe('a chain that is shorter than before', () => {
  test('cut back: the blocks above its newest one leave, from the tip downwards, and none come', async () => {
    const walk = await walked(10)
    const cut = forkOf(0, 6)
    const moved = await walk.rewind(cut[5] as SealedBlock, shows(cut))
    expect(numbers(moved?.left)).toEqual([9, 8, 7, 6])
    expect(moved?.came).toEqual([])
    expect(walk.tip?.number).toBe(5)
  })

  test('reorganised: back to the common ancestor, and forward to the newest of the other fork', async () => {
    const walk = await walked(10)
    const other = forkOf(1, 7, 4)
    const moved = await walk.rewind(other[6] as SealedBlock, shows(other))
    expect(numbers(moved?.left)).toEqual([9, 8, 7, 6, 5])
    expect(numbers(moved?.came)).toEqual([5, 6])
    expect([walk.tip?.hash, walk.hashAt(4)]).toEqual([hashOf(1, 6), hashOf(0, 4)])
  })

  test('with no common ancestor: all leave, and the walk restarts at its newest block', async () => {
    const walk = await walked(10)
    const other = forkOf(2, 7, -1)
    const moved = await walk.rewind(other[6] as SealedBlock, shows(other))
    expect(moved?.left).toHaveLength(10)
    expect(numbers(moved?.came)).toEqual([6])
    expect(walk.tip?.hash).toBe(hashOf(2, 6))
  })

  test('below all known blocks: nothing changes until its newest is shown by its number too', async () => {
    const walk = createWalk({ length: 64 })
    const blocks = forkOf(0, 10)
    await walk.advance(blocks[9] as SealedBlock, shows(blocks))
    const invented = {
      ...(blocks[9] as SealedBlock),
      number: 4,
      hash: hashOf(9, 4),
      parentHash: hashOf(9, 3),
    }
    expect(await walk.rewind(invented, shows(blocks))).toBeUndefined()
    expect(walk.tip?.hash).toBe(hashOf(0, 9))
    const reset = forkOf(2, 5, -1)
    const moved = await walk.rewind(reset[4] as SealedBlock, shows(reset))
    expect([numbers(moved?.left), numbers(moved?.came)]).toEqual([[9], [4]])
  })

  test('with unavailable blocks: nothing changes', async () => {
    const walk = await walked(10)
    expect(await walk.rewind(forkOf(0, 6)[5] as SealedBlock, async () => undefined)).toBeUndefined()
    expect(walk.tip?.number).toBe(9)
  })
})

describe('the first tip', () => {
  const blocks = forkOf(0, 10)

  test('has the parent that it has by its number', async () => {
    const walk = createWalk({ length: 64 })
    const orphan = { ...(blocks[9] as SealedBlock), parentHash: hashOf(7, 8) }
    expect(await walk.advance(orphan, shows(blocks))).toBeUndefined()
    await walk.advance(blocks[9] as SealedBlock, shows(blocks))
    walk.reach(5)
    await walk.advance(blocks[9] as SealedBlock, shows(blocks))
    expect(walk.hashAt(5)).toBe(blocks[5]?.hash)
  })

  test('has to be shown by its number too, however often it is shown as the newest', async () => {
    const walk = createWalk({ length: 64 })
    const raised = { ...(blocks[9] as SealedBlock), number: 1_009 }
    for (let look = 0; look < 3; look++) {
      expect(await walk.advance(raised, shows(blocks))).toBeUndefined()
      expect(walk.tip).toBeUndefined()
    }
    await walk.advance(blocks[9] as SealedBlock, shows(blocks))
    expect(walk.tip?.number).toBe(9)
  })
})
