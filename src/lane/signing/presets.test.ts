import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import { createSenderIn } from '../../api/sender/sender.js'
import {
  openLane,
  refuses,
  type SimLane,
  type SimLaneOptions,
  swallows,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcCall } from '../../rpc/port.js'

const SUGGESTED_WEI = 100_000n
const TIPS = { economy: 7n, normal: 70n, urgent: 700n }
const OTHER = '0x00000000000000000000000000000000000000bb'

const hex = (wei: bigint) => `0x${wei.toString(16)}`
const historyOf = (tips: { economy: bigint; normal: bigint; urgent: bigint }) => ({
  ok: true as const,
  result: { reward: Array.from({ length: 10 }, () => [tips.economy, tips.normal, tips.urgent].map(hex)) },
})
const isHistory = ({ method }: RpcCall) => method === 'eth_feeHistory'
const histories = (lane: SimLane) => lane.requests.flat().filter(isHistory).length
const tipsSent = (lane: SimLane) => lane.sent.map(({ tipWei }) => tipWei)

/** A lane whose node serves the fee history. */
async function openWithHistory(options: SimLaneOptions = {}): Promise<SimLane> {
  const lane = await openLane({ closed: true, ...options })
  lane.script = (call) => (isHistory(call) ? historyOf(TIPS) : undefined)
  lane.chain.start()
  return lane
}

describe('the offered tip', () => {
  test.each(['economy', 'normal', 'urgent'] as const)('follows the preset %s of the lane', async (preset) => {
    await using lane = await openWithHistory({ fees: { preset } })
    await lane.settle(lane.sender.send(transfer(1)))
    expect(tipsSent(lane)).toEqual([TIPS[preset]])
  })

  test('prefers the preset of the transaction to that of the lane, and fees in the request to both', async () => {
    await using lane = await openWithHistory({ fees: { preset: 'economy' } })
    const given = { ...transfer(2), maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 33n }
    await lane.settle(lane.sender.send(transfer(1), { feePreset: 'urgent' }))
    await lane.settle(lane.sender.send(given as never, { feePreset: 'urgent' }))
    await lane.settle(lane.sender.send(transfer(3)))
    expect(tipsSent(lane)).toEqual([TIPS.urgent, 33n, TIPS.economy])
  })

  test('follows the preset of a transaction in a lane without one, and of no other transaction', async () => {
    await using lane = await openWithHistory()
    await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(lane.sender.send(transfer(2), { feePreset: 'normal' }))
    expect(tipsSent(lane)).toEqual([SUGGESTED_WEI, TIPS.normal])
  })

  test('does not exceed the ceiling', async () => {
    await using lane = await openWithHistory({ fees: { preset: 'urgent' } })
    lane.script = (call) => (isHistory(call) ? historyOf({ ...TIPS, urgent: 10n ** 12n }) : undefined)
    await lane.settle(lane.sender.send(transfer(1), { feeCeiling: 5_000_000n }))
    expect(lane.sent[0]).toMatchObject({ maxFeeWei: 5_000_000n, tipWei: 5_000_000n })
  })

  test('of a bump follows the preset of its transaction', async () => {
    await using lane = await openWithHistory({ fees: { preset: 'economy' } })
    let tips = TIPS
    let isSwallowed = true
    lane.script = (call, tx) => {
      if (isHistory(call)) return historyOf(tips)
      return tx && isSwallowed ? swallows(tx) : undefined
    }
    const tx = await lane.settle(lane.sender.send(transfer(1), { feePreset: 'urgent' }))
    // Far above the result of the bump rule alone.
    tips = { economy: 8n, normal: 80n, urgent: 10n ** 7n }
    lane.sender.setFees({ ceiling: { maxFeePerGas: 10n ** 12n } })
    await lane.clock.advance(12_000)
    isSwallowed = false
    await lane.settle(tx.wait('sealed'))
    expect(tipsSent(lane)[0]).toBe(TIPS.urgent)
    expect(tipsSent(lane).at(-1)).toBeGreaterThanOrEqual(10n ** 7n)
  })

  test('follows a preset in the store when another process sends the transaction later', async () => {
    await using lane = await openWithHistory()
    lane.sender.pause()
    await lane.settle(lane.sender.send(transfer(1), { id: 'late', until: 'queued', feePreset: 'economy' }))
    expect(await lane.parameters.store!.find((await keyOf(lane)) as never, { id: 'late' })).toMatchObject({
      feePreset: 'economy',
    })
    lane.sender.resume()
    await lane.settle(lane.sender.drain())
    expect(tipsSent(lane)).toEqual([TIPS.economy])
  })
})

async function keyOf(lane: SimLane) {
  const { chainId, address } = await lane.snapshot()
  const genesisHash = lane.chain.canonical[0]?.hash
  return { chainId, address: address.toLowerCase(), genesisHash }
}

describe('the fee requests', () => {
  test('contain no fee history without a preset', async () => {
    await using lane = await openWithHistory()
    for (const marker of [1, 2, 3]) {
      await lane.settle(lane.sender.send(transfer(marker)).then((tx) => tx.wait('sealed')))
      await lane.blocks(1)
    }
    expect(histories(lane)).toBe(0)
  })

  test('stop while there is nothing to send', async () => {
    await using lane = await openWithHistory({ fees: { preset: 'normal' } })
    await lane.settle(lane.sender.send(transfer(1)).then((tx) => tx.wait('finalized')))
    await lane.clock.advance(60_000)
    const before = lane.requests.length
    await lane.clock.advance(3_600_000)
    expect(lane.requests.length).toBe(before)
  })

  test('contain one fee history per block at most, for all presets and lanes of an endpoint together', async () => {
    await using lane = await openWithHistory({
      others: [{ address: OTHER, nonce: 0, balanceWei: 10n ** 18n }],
    })
    const account = createStubAccount(OTHER, { clock: lane.clock, delayMs: () => 0 })
    const other = createSenderIn(lane.environment, { ...lane.parameters, account })
    await lane.settle(Promise.all([lane.sender.ready(), other.ready()]))
    const first = lane.chain.head.number
    const presets = ['economy', 'normal', 'urgent'] as const
    for (let marker = 1; marker <= 60; marker++) {
      const sender = marker % 2 === 0 ? lane.sender : other
      await lane.settle(sender.send(transfer(marker), { feePreset: presets[marker % 3] }))
      await lane.clock.advance(500)
    }
    const blocks = lane.chain.head.number - first
    expect(blocks).toBeGreaterThan(10)
    expect(histories(lane)).toBeGreaterThan(5)
    expect(histories(lane)).toBeLessThanOrEqual(blocks + 1)
    const asked = lane.requests.flat().filter(({ method }) => method === 'eth_maxPriorityFeePerGas').length
    // Each lane requests the suggestion of the node once for `ready`, as it does without a preset.
    expect(asked).toBeLessThanOrEqual(2)
    await lane.settle(other.close())
  })
})

describe('without a fee history each preset is the suggestion of the node', () => {
  test('an endpoint without the method gets one request for it', async () => {
    await using lane = await openLane({ closed: true, fees: { preset: 'economy' } })
    lane.chain.start()
    for (const marker of [1, 2]) {
      await lane.settle(lane.sender.send(transfer(marker)).then((tx) => tx.wait('sealed')))
      await lane.clock.advance(12_000)
    }
    expect(tipsSent(lane)).toEqual([SUGGESTED_WEI, SUGGESTED_WEI])
    expect(histories(lane)).toBe(1)
  })

  const ANSWERS = [
    ['no answer', TIMES_OUT],
    ['an internal error', refuses('internal error', -32603)],
    ['nonsense', { ok: true, result: { reward: [['0x1']] } }],
    ['empty blocks', { ok: true, result: { reward: [['0x0', '0x0', '0x0']] } }],
  ] as const
  test.each(ANSWERS)('%s, and the request is repeated at a later block', async (_, reply) => {
    await using lane = await openLane({ closed: true, fees: { preset: 'urgent' } })
    lane.script = (call) => (isHistory(call) ? reply : undefined)
    lane.chain.start()
    await lane.settle(lane.sender.send(transfer(1)).then((tx) => tx.wait('sealed')))
    lane.script = (call) => (isHistory(call) ? historyOf(TIPS) : undefined)
    await lane.clock.advance(12_000)
    await lane.settle(lane.sender.send(transfer(2)))
    expect(tipsSent(lane)).toEqual([SUGGESTED_WEI, TIPS.urgent])
  })
})

describe('an invalid preset is rejected at once', () => {
  test('if it does not exist', async () => {
    await using lane = await openLane()
    const error = await lane.rejection(lane.sender.send(transfer(1), { feePreset: 'fast' as never }))
    expect(error).toMatchObject({ code: 'INVALID' })
    expect(error.message).toContain('options.feePreset')
    expect(() => lane.sender.setFees({ preset: 'fast' as never })).toThrow(
      /fees\.preset.*economy, normal, urgent/,
    )
  })

  test('if the lane has its own estimate', async () => {
    const estimate = async () => ({ maxFeePerGas: 5_000_000n, maxPriorityFeePerGas: 5n })
    await expect(openLane({ fees: { estimate, preset: 'normal' } as never })).rejects.toThrow(/fees\.preset/)
    await using lane = await openLane({ fees: { estimate } as never })
    const error = await lane.rejection(lane.sender.send(transfer(1), { feePreset: 'normal' }))
    expect(error.message).toContain('options.feePreset')
    expect(() => lane.sender.setFees({ preset: 'normal' })).toThrow(/fees\.preset/)
  })
})
