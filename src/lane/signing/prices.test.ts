import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { capped, feeCap } from '../../ledger/fees.js'
import { offerAt, type Price } from './prices.js'

const PRESETS = ['economy', 'normal', 'urgent'] as const
const wei = fc.bigInt({ min: 0n, max: 2n ** 64n })
const tips = fc
  .tuple(wei, wei, wei)
  .map(([economy, more, most]) => ({ economy, normal: economy + more, urgent: economy + more + most }))
const price: fc.Arbitrary<Price> = fc.oneof(
  tips.map((all) => ({ kind: 'tips' as const, tips: all })),
  wei.map((one) => ({ kind: 'tips' as const, tips: one })),
  wei.map((gasPrice) => ({ kind: 'gasPrice' as const, wei: gasPrice })),
)

const tipOf = (fees: ReturnType<typeof offerAt>) =>
  fees === undefined || 'gasPrice' in fees ? 0n : fees.maxPriorityFeePerGas

describe('the offer', () => {
  test('of economy is at most that of normal, which is at most that of urgent', () => {
    fc.assert(
      fc.property(price, wei, wei, (one, baseFee, ceiling) => {
        const offers = PRESETS.map((preset) => offerAt(one, preset, baseFee)!)
        for (const [index, offer] of offers.entries()) {
          const next = offers[index + 1]
          if (next === undefined) continue
          expect(feeCap(offer) <= feeCap(next)).toBe(true)
          expect(tipOf(offer) <= tipOf(next)).toBe(true)
          // The order holds under a ceiling too.
          const [low, high] = [offer, next].map((fees) => capped(fees, { maxFeePerGas: ceiling }))
          expect(feeCap(low!) <= feeCap(high!)).toBe(true)
          expect(feeCap(high!) <= ceiling).toBe(true)
        }
      }),
    )
  })

  test('covers twice the base fee, and its tip is at least one wei', () => {
    fc.assert(
      fc.property(tips, wei, fc.constantFrom(...PRESETS), (all, baseFee, preset) => {
        const offer = offerAt({ kind: 'tips', tips: all }, preset, baseFee)!
        expect(tipOf(offer) >= 1n).toBe(true)
        expect(feeCap(offer)).toBe(2n * baseFee + tipOf(offer))
      }),
    )
  })

  test('is 1, 1.2 and 1.5 times the gas price of the node by preset, and 1.2 times without a preset', () => {
    const at = (preset: (typeof PRESETS)[number] | undefined) =>
      offerAt({ kind: 'gasPrice', wei: 1_000n }, preset, undefined)
    expect([...PRESETS, undefined].map(at)).toEqual(
      [1_000n, 1_200n, 1_500n, 1_200n].map((gasPrice) => ({ gasPrice })),
    )
  })

  test('is undefined for a tip without a base fee', () => {
    expect(offerAt({ kind: 'tips', tips: 1n }, undefined, undefined)).toBeUndefined()
  })

  test('is the unchanged estimate of the caller for every preset', () => {
    const fees = { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n }
    expect(PRESETS.map((preset) => offerAt({ kind: 'fees', fees }, preset, 5n))).toEqual([fees, fees, fees])
  })
})
