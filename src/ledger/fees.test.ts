import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bumpFee,
  capped,
  ceilingAbove,
  effectiveTip,
  type FeeCeiling,
  type Fees,
  feeCap,
  highest,
  outbid,
  replacementFees,
  transactionCeiling,
} from './fees.js'

const rule = { percent: 10 }
const dynamic = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
})
const legacy = (gasPrice: bigint): Fees => ({ gasPrice })
const ceiling = (maxFeePerGas: bigint): FeeCeiling => ({ maxFeePerGas })
const high = ceiling(10n ** 30n)

const tipOf = (fees: Fees): bigint => ('gasPrice' in fees ? fees.gasPrice : fees.maxPriorityFeePerGas)

/**
 * geth `core/txpool/legacypool/list.go`: both fees strictly higher, and at least old × (100 + PriceBump) /
 * 100.
 */
function gethTakes(old: Fees, next: Fees, percent = 10n): boolean {
  const enough = (before: bigint, after: bigint) =>
    after > before && after >= (before * (100n + percent)) / 100n
  return enough(feeCap(old), feeCap(next)) && enough(tipOf(old), tipOf(next))
}

/** reth rounds the threshold up. */
const rethTakes = (before: bigint, after: bigint): boolean => after >= (before * 110n + 99n) / 100n

const wei = fc.bigInt({ min: 0n, max: 10n ** 15n })
const feesArbitrary: fc.Arbitrary<Fees> = fc.oneof(
  fc.tuple(wei, wei).map(([a, b]) => (a > b ? dynamic(a, b) : dynamic(b, a))),
  wei.map(legacy),
)

describe('fees, by table', () => {
  test.each<[string, Fees, Fees | undefined]>([
    [
      '1 gwei and a tenth of it',
      dynamic(1_000_000_000n, 100_000_000n),
      dynamic(1_110_000_001n, 111_000_001n),
    ],
    ['a tip of zero', dynamic(100n, 0n), dynamic(112n, 1n)],
    ['nothing at all', dynamic(0n, 0n), dynamic(1n, 1n)],
    ['fees that do not divide', dynamic(101n, 9n), dynamic(114n, 11n)],
    ['a legacy price', legacy(1_000n), legacy(1_111n)],
    ['an offer at the ceiling', dynamic(10n ** 30n, 1n), undefined],
  ])('replaces %s', (_, old, next) => {
    expect(replacementFees(old, { rule, ceiling: high })).toEqual(next)
  })

  test("a replacement pays the market's fees if they are higher, up to the ceiling", () => {
    const old = dynamic(100n, 10n)
    expect(replacementFees(old, { rule, ceiling: high, market: dynamic(500n, 3n) })).toEqual(
      dynamic(500n, 13n),
    )
    expect(replacementFees(old, { rule, ceiling: ceiling(300n), market: dynamic(500n, 400n) })).toEqual(
      dynamic(300n, 300n),
    )
    expect(replacementFees(legacy(100n), { rule, ceiling: high, market: dynamic(500n, 3n) })).toEqual(
      legacy(500n),
    )
  })

  test('a market with only a gas price raises the cap and leaves the tip', () => {
    const old = dynamic(100n, 10n)
    expect(replacementFees(old, { rule, ceiling: high, market: legacy(500n) })).toEqual(dynamic(500n, 13n))
    expect(replacementFees(old, { rule, ceiling: high, market: legacy(50n) })).toEqual(dynamic(112n, 13n))
  })

  test('two steps of a tenth and their margins lie between the ceilings of transactions and of the lane', () => {
    expect(transactionCeiling(ceiling(12_321n), rule)).toEqual(ceiling(9_996n))
    expect(transactionCeiling(ceiling(1_299n), rule)).toEqual(ceiling(1_050n))
    expect(transactionCeiling(ceiling(5n), rule)).toEqual(ceiling(1n))
  })

  test('outbids the highest of each fee among all attempts; without attempts it pays the market', () => {
    const market = dynamic(50n, 5n)
    expect(outbid([], { rule, market, ceiling: ceiling(40n) })).toEqual(dynamic(40n, 5n))
    expect(outbid([dynamic(100n, 1n), dynamic(60n, 20n)], { rule, market, ceiling: high })).toEqual(
      dynamic(112n, 24n),
    )
    expect(highest(dynamic(100n, 1n), legacy(60n))).toEqual(legacy(100n))
  })

  test('a blob replacement doubles', () => {
    expect(bumpFee(100n, { percent: 100 })).toBeGreaterThanOrEqual(200n)
  })

  test('each rejected replacement makes the step larger by the same amount', () => {
    expect(
      [0, 1, 2].map((replacementRejections) => bumpFee(1_000n, { percent: 10, replacementRejections })),
    ).toEqual([1_111n, 1_211n, 1_311n])
  })

  test('the addition for a rejected replacement stops at the ceiling, and never prevents an offer', () => {
    const twice = { percent: 10, replacementRejections: 1 }
    const old = dynamic(1_000n, 100n)
    expect(replacementFees(old, { rule: twice, ceiling: high })).toEqual(dynamic(1_211n, 122n))
    expect(replacementFees(old, { rule: twice, ceiling: ceiling(1_150n) })).toEqual(dynamic(1_150n, 122n))
    expect(replacementFees(old, { rule: twice, ceiling: ceiling(1_110n) })).toBeUndefined()
    expect(replacementFees(legacy(1_000n), { rule: twice, ceiling: ceiling(1_150n) })).toEqual(legacy(1_150n))
  })

  test('the effective tip is the part of the cap above the base fee', () => {
    expect(effectiveTip(dynamic(100n, 10n), 95n)).toBe(5n)
    expect(effectiveTip(dynamic(100n, 10n), 20n)).toBe(10n)
    expect(effectiveTip(legacy(100n), 120n)).toBe(-20n)
  })
})

/**
 * Besu TransactionReplacementByFeeMarketRule: the effective price rises by at least a tenth, and the builder
 * gets no less.
 */
function besuTakes(old: Fees, next: Fees, baseFee: bigint): boolean {
  const price = (fees: Fees) => baseFee + effectiveTip(fees, baseFee)
  const before = price(old)
  const after = price(next)
  const noLess = effectiveTip(next, baseFee) >= effectiveTip(old, baseFee)
  return after > 0n && after * 100n > before * 110n && noLess
}

describe('a replacement by the effective price', () => {
  test('a tip of 1 gwei above a base fee of 100 gwei rises by a tenth of the price', () => {
    const gwei = 10n ** 9n
    const next = replacementFees(dynamic(201n * gwei, gwei), {
      rule: { percent: 10, baseFee: 100n * gwei },
      ceiling: high,
    })
    expect(next).toEqual(dynamic(223_110_000_001n, 13_485_000_001n))
  })

  test.each<[string, bigint, Fees, Fees]>([
    ['a base fee that is an eighth higher', 800n, dynamic(2_000n, 10n), dynamic(2_221n, 112n)],
    ['no more of the base fee than the cap covers', 200n, dynamic(100n, 10n), dynamic(112n, 22n)],
  ])('the tip accounts for %s', (_, baseFee, old, next) => {
    expect(replacementFees(old, { rule: { percent: 10, baseFee }, ceiling: high })).toEqual(next)
  })

  test('the ceiling cuts it: exceeding the ceiling this way never prevents an offer', () => {
    const old = dynamic(2_000n, 10n)
    const rule = { percent: 10, baseFee: 1_000n }
    expect(replacementFees(old, { rule, ceiling: ceiling(2_221n) })).toEqual(dynamic(2_221n, 136n))
    expect(replacementFees(old, { rule, ceiling: ceiling(2_220n) })).toBeUndefined()
  })

  test('is accepted by Besu at every possible base fee of the next block', () => {
    fc.assert(
      fc.property(wei, wei, fc.bigInt({ min: 1n, max: 10n ** 15n }), (one, other, baseFee) => {
        const old = one > other ? dynamic(one, other) : dynamic(other, one)
        const next = replacementFees(old, { rule: { percent: 10, baseFee }, ceiling: high })
        if (next === undefined) throw new Error('refused below the ceiling')
        expect(gethTakes(old, next)).toBe(true)
        for (const at of [(baseFee * 7n) / 8n, baseFee, (baseFee * 9n) / 8n])
          if (at <= feeCap(old)) expect(besuTakes(old, next, at)).toBe(true)
      }),
    )
  })
})

describe('fees, for any amounts', () => {
  test('geth and reth accept a replacement: both fees strictly higher, by at least a tenth', () => {
    fc.assert(
      fc.property(feesArbitrary, fc.option(feesArbitrary, { nil: undefined }), (old, market) => {
        const next = replacementFees(old, { rule, market, ceiling: high })
        if (next === undefined) throw new Error('refused below the ceiling')
        expect(gethTakes(old, next)).toBe(true)
        expect(rethTakes(feeCap(old), feeCap(next)) && rethTakes(tipOf(old), tipOf(next))).toBe(true)
      }),
    )
  })

  test('no fee exceeds the ceiling, no tip exceeds its cap, and an attempt that cannot be outbid within it is refused', () => {
    fc.assert(
      fc.property(feesArbitrary, feesArbitrary, wei, (old, market, limit) => {
        const next = replacementFees(old, { rule, market, ceiling: ceiling(limit) })
        if (next === undefined) {
          expect(feeCap(old) * 111n + 199n > limit * 100n || tipOf(old) * 111n + 199n > limit * 100n).toBe(
            true,
          )
          return
        }
        expect(feeCap(next) <= limit && tipOf(next) <= feeCap(next)).toBe(true)
        expect(gethTakes(old, next)).toBe(true)
      }),
    )
  })

  test('a no-op outbids every attempt of its slot', () => {
    fc.assert(
      fc.property(
        fc.array(feesArbitrary, { minLength: 1, maxLength: 4 }),
        feesArbitrary,
        (attempts, market) => {
          const next = outbid(attempts, { rule, market, ceiling: high })
          if (next === undefined) throw new Error('refused below the ceiling')
          for (const old of attempts) expect(gethTakes(old, next)).toBe(true)
        },
      ),
    )
  })

  test('two more steps fit between the ceiling of transactions and that of the lane, for any rule', () => {
    const percents = fc.integer({ min: 1, max: 100 })
    fc.assert(
      fc.property(fc.bigInt({ min: 1_000n, max: 10n ** 15n }), wei, percents, (limit, tip, percent) => {
        const lane = ceiling(limit)
        const step = { percent }
        const top = transactionCeiling(lane, step)
        const start = capped(dynamic(top.maxFeePerGas, tip), top)
        const once = replacementFees(start, { rule: step, ceiling: lane })
        const twice = once && replacementFees(once, { rule: step, ceiling: lane })
        expect(twice && feeCap(twice) <= limit && gethTakes(once, twice, BigInt(percent))).toBe(true)
      }),
    )
  })

  test('two steps fit between the offered fees and the ceiling above them, for any rule', () => {
    const percents = fc.integer({ min: 1, max: 100 })
    fc.assert(
      fc.property(wei, fc.array(feesArbitrary, { maxLength: 3 }), percents, (limit, offered, percent) => {
        const step = { percent }
        const above = ceilingAbove(offered, ceiling(limit), step)
        expect(above.maxFeePerGas >= limit).toBe(true)
        for (const fees of offered) {
          const once = replacementFees(fees, { rule: step, ceiling: above })
          expect(once && replacementFees(once, { rule: step, ceiling: above })).toBeDefined()
        }
      }),
    )
  })

  test('an offer well below a ceiling does not move it', () => {
    const lane = ceiling(10_000n)
    expect(ceilingAbove([dynamic(100n, 1n), legacy(5_000n)], lane, rule)).toEqual(lane)
    expect(ceilingAbove([], lane, rule)).toEqual(lane)
    expect(ceilingAbove([legacy(9_000n)], lane, rule).maxFeePerGas).toBe(bumpFee(bumpFee(9_000n, rule), rule))
  })

  test('an offer that is cut to a ceiling keeps its tip below its cap', () => {
    fc.assert(
      fc.property(feesArbitrary, wei, (fees, limit) => {
        const cut = capped(fees, ceiling(limit))
        expect(feeCap(cut) <= limit && tipOf(cut) <= feeCap(cut)).toBe(true)
      }),
    )
  })
})
