import { describe, expect, test } from 'vitest'
import { createDeliveryMeter } from './delivered.js'
import { foreignTransaction } from './foreign.js'
import { LANE } from './outside.js'
import { drawPlan } from './plan.js'
import { createVirtualClock } from './virtualClock.js'
import { makeChain } from './worldChain.js'

function setUp({
  calm = true,
  objected = false,
  blockTimeMs = 2_000,
}: {
  calm?: boolean
  objected?: boolean
  blockTimeMs?: number
} = {}) {
  const clock = createVirtualClock()
  const plan = { ...drawPlan(1, { calm: true }), rules: 'geth' as const, items: [], blockTimeMs }
  const chain = makeChain(plan, clock, () => {})
  const meter = createDeliveryMeter({ plan, calm, chain, clock, objected: () => objected })
  const { chainId, baseFeeWei, tipWei } = chain.settings
  const fees = { maxFeeWei: 2n * baseFeeWei + tipWei, tipWei }
  const { raw } = foreignTransaction({ chainId, from: LANE, nonce: plan.initialNonce, ...fees, salt: 1 })
  meter.start()
  return { clock, chain, meter, raw }
}

describe('the delivery of bytes to the nodes', () => {
  test('a second copy to the same endpoint is one too many, one to another endpoint is not', () => {
    const { meter, raw } = setUp()
    meter.sent('a', raw)
    meter.sent('b', raw)
    expect(meter.violations()).toEqual([])
    meter.sent('a', raw)
    expect(meter.violations()).toMatchObject([{ promise: 'delivery' }])
  })

  test.each([
    ['once', 2_000, 2],
    ['twice on a chain with several blocks a second', 200, 3],
  ])(
    'a healed world may repeat bytes that its nodes lack, and %s bytes that they have',
    (_, blockTimeMs, most) => {
      const { chain, meter, raw } = setUp({ calm: false, blockTimeMs })
      for (let copies = 0; copies < 5; copies++) meter.sent('a', raw)
      expect(meter.violations()).toEqual([])
      chain.submit(raw)
      for (let copies = 0; copies < most; copies++) meter.sent('a', raw)
      expect(meter.violations()).toEqual([])
      meter.sent('a', raw)
      expect(meter.violations()).toMatchObject([{ promise: 'delivery' }])
    },
  )

  test('a pool that lacks sent bytes for too long was neglected', async () => {
    const { clock, chain, meter, raw } = setUp()
    meter.sent('a', raw)
    await clock.advance(1_000)
    expect(meter.violations()).toEqual([])
    await clock.advance(120_000)
    expect(meter.violations()).toMatchObject([{ promise: 'delivery' }])
    const sparing = setUp({ objected: true })
    sparing.meter.sent('a', sparing.raw)
    await sparing.clock.advance(120_000)
    expect(sparing.meter.violations()).toMatchObject([{ promise: 'delivery' }])
    const pooled = setUp()
    pooled.chain.submit(raw)
    pooled.meter.sent('a', raw)
    await pooled.clock.advance(120_000)
    expect(pooled.meter.violations()).toEqual([])
    expect(chain.pool.size).toBe(0)
  })
})
