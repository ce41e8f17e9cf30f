import { pad } from 'viem'
import { describe, expect, test } from 'vitest'
import { rawBlock } from '../../../test/contract/stubPort.js'
import { decodeHeader } from '../../rpc/codec.js'
import { createBeginning } from './chainView.js'
import { createWalk, type FetchBlocks } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { sealedOf } from './tickParts.js'

const hashOf = (number: number, fork = 0) => pad(`0x${(fork * 1_000 + number).toString(16)}`)
const wire = (number: number, fork = 0) =>
  rawBlock({
    number: `0x${number.toString(16)}`,
    hash: hashOf(number, fork),
    parentHash: hashOf(number - 1, fork),
  })
const block = (number: number, fork = 0) => sealedOf(decodeHeader(wire(number, fork))) as SealedBlock

/** A walk that begins after block 10 was seen, and the blocks that it fetched. */
function begun() {
  const fetched: (readonly number[])[] = []
  const fetch: FetchBlocks = async (numbers) => {
    fetched.push(numbers)
    return numbers.map((number) => block(number))
  }
  const walk = createWalk({ length: 100 })
  const beginning = createBeginning(walk)
  beginning.onNewestBlock(block(10))
  const [part] = beginning.parts(true)
  return { walk, beginning, part, fetch, fetched }
}

describe('a block that was seen before the walk began', () => {
  test.each([
    [10, [10]],
    [11, [10, 11]],
    [13, [10]],
  ])('starts the walk if it is shown by its number: the newest is %i', async (newest, came) => {
    const { walk, beginning, part, fetch, fetched } = begun()
    expect(part?.call).toEqual({ method: 'eth_getBlockByNumber', params: ['0xa', false] })
    part?.take({ ok: true, result: wire(10) })
    const moved = await beginning.advance(block(newest), fetch)
    expect(moved?.came.map(({ number }) => number)).toEqual(came)
    expect(moved?.left).toEqual([])
    expect(fetched).toEqual([])
    await beginning.advance(block(newest), fetch)
    expect(walk.tip?.hash).toBe(hashOf(newest))
  })

  test.each([
    ['another one is', wire(10, 1)],
    ['none is', null],
    ['one of another number is', wire(9)],
  ])('is not believed if %s shown by its number', async (_, result) => {
    const { walk, beginning, part, fetch, fetched } = begun()
    part?.take({ ok: true, result })
    await beginning.advance(block(12), fetch)
    expect(fetched).toEqual([[12]])
    expect(walk.hashAt(10)).toBeUndefined()
    expect(walk.tip?.number).toBe(12)
  })

  test('and was reorganised since is followed by its replacement', async () => {
    const { walk, beginning, part } = begun()
    part?.take({ ok: true, result: wire(10) })
    const moved = await beginning.advance(block(10), async () => undefined)
    expect(moved?.came).toHaveLength(1)
    await beginning.advance(block(12, 1), async (numbers) => numbers.map((number) => block(number, 1)))
    expect(walk.hashAt(12)).toBe(hashOf(12, 1))
    expect(walk.hashAt(10)).not.toBe(hashOf(10))
  })

  test('is requested once, only from an endpoint on the chain, and only before the walk began', async () => {
    const { beginning, part, fetch } = begun()
    expect(beginning.parts(false)).toEqual([])
    part?.take({ ok: true, result: wire(10) })
    await beginning.advance(block(10), fetch)
    expect(beginning.parts(true)).toEqual([])
  })

  test('is the requested one, whatever else was seen since', async () => {
    const { walk, beginning, part, fetch } = begun()
    beginning.onNewestBlock(block(11))
    part?.take({ ok: true, result: wire(10) })
    await beginning.advance(block(11), fetch)
    expect(walk.hashAt(10)).toBe(hashOf(10))
  })

  test('predicts the properties of blocks until one has joined', () => {
    const beginning = createBeginning(createWalk({ length: 100 }))
    expect(beginning.block).toBeUndefined()
    beginning.onNewestBlock(block(10))
    expect(beginning.block?.gasLimit).toBe(block(10).gasLimit)
  })
})
