import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tipsCall, tipsOf } from './feeHistory.js'

const hex = (wei: bigint) => `0x${wei.toString(16)}`
const answer = (blocks: readonly (readonly bigint[])[]) => ({ reward: blocks.map((block) => block.map(hex)) })

test('requests ten blocks, at rising percentiles', () => {
  expect(tipsCall).toEqual({ method: 'eth_feeHistory', params: ['0xa', 'latest', [10, 50, 90]] })
})

test('each preset offers the median of the tips of blocks at its percentile', () => {
  const blocks = [
    [1n, 10n, 100n],
    [3n, 30n, 300n],
    [2n, 20n, 200n],
  ]
  expect(tipsOf(answer(blocks))).toEqual({ economy: 2n, normal: 20n, urgent: 200n })
})

test('takes the lower of the two middle blocks of an even number', () => {
  const blocks = [
    [1n, 1n, 1n],
    [9n, 9n, 9n],
  ]
  expect(tipsOf(answer(blocks))).toEqual({ economy: 1n, normal: 1n, urgent: 1n })
})

test('a block without tips says nothing about the price of inclusion', () => {
  const blocks = [
    [0n, 0n, 0n],
    [0n, 0n, 0n],
    [5n, 6n, 7n],
  ]
  expect(tipsOf(answer(blocks))).toEqual({ economy: 5n, normal: 6n, urgent: 7n })
})

test('offers nothing without a block that paid a tip', () => {
  expect(tipsOf(answer([[0n, 0n, 0n]]))).toBeUndefined()
  expect(tipsOf({ reward: [] })).toBeUndefined()
})

describe('a malformed answer is refused with a typed error', () => {
  const ANSWERS: readonly unknown[] = [
    null,
    undefined,
    '0x',
    7,
    [],
    {},
    { reward: null },
    { reward: '0x1' },
    { reward: [null] },
    { reward: [[]] },
    { reward: [['0x1', '0x2']] },
    { reward: [['0x1', '0x2', 3]] },
    { reward: [['0x1', '0x2', '-0x3']] },
    { reward: [['0x1', '0x2', 'NaN']] },
  ]
  test.each(ANSWERS.map((one) => [JSON.stringify(one) ?? 'undefined', one]))('%s', (_, one) => {
    expect(() => tipsOf(one)).toThrow(/eth_feeHistory/)
  })
})

describe('properties', () => {
  const wei = fc.bigInt({ min: 0n, max: 2n ** 80n })
  // In any order: a node may be wrong about that, too.
  const block = fc.tuple(wei, wei, wei)
  const blocks = fc.array(block, { minLength: 1, maxLength: 12 })

  test('economy ≤ normal ≤ urgent, for any answer of a node', () => {
    fc.assert(
      fc.property(blocks, (all) => {
        const tips = tipsOf(answer(all))
        if (tips === undefined) return
        expect(tips.economy <= tips.normal).toBe(true)
        expect(tips.normal <= tips.urgent).toBe(true)
      }),
    )
  })

  test('no preset offers less for blocks that paid more', () => {
    fc.assert(
      fc.property(
        blocks,
        fc.nat(),
        fc.nat({ max: 2 }),
        fc.bigInt({ min: 1n, max: 2n ** 80n }),
        (all, at, place, more) => {
          // A block that paid nothing is no sample: it would be one more.
          const paid = all.map(([a, b, c]) => [a + 1n, b + 1n, c + 1n])
          const dearer = paid.map((one, index) =>
            index === at % paid.length ? one.map((tip, own) => (own === place ? tip + more : tip)) : one,
          )
          const [before, after] = [tipsOf(answer(paid))!, tipsOf(answer(dearer))!]
          for (const preset of ['economy', 'normal', 'urgent'] as const)
            expect(after[preset] >= before[preset]).toBe(true)
        },
      ),
    )
  })

  test('no preset offers more than the highest tip that the blocks paid', () => {
    fc.assert(
      fc.property(blocks, (all) => {
        const tips = tipsOf(answer(all))
        const most = all.flat().reduce((a, b) => (a > b ? a : b))
        expect((tips?.urgent ?? 0n) <= most).toBe(true)
      }),
    )
  })
})
