import { describe, expect, test } from 'vitest'
import { openLane, refuses, type SimLane, TIMES_OUT, transfer } from '../../api/sender/simLane.fixture.js'
import { headerCall } from '../../rpc/codec.js'

const TIP_WEI = 100_000n
const tipOf = (lane: SimLane) => lane.sent[0]?.tipWei

/** A lane that has not read a gas price yet. */
async function unasked(): Promise<SimLane> {
  const lane = await openLane({ closed: true })
  lane.chain.start()
  return lane
}

test('a request for the tip without an answer is repeated, and no tip is invented', async () => {
  await using lane = await unasked()
  let asked = 0
  lane.script = ({ method }) => (method === 'eth_maxPriorityFeePerGas' && asked++ < 2 ? TIMES_OUT : undefined)
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.events('error').length).toBeGreaterThan(0)
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('without eth_maxPriorityFeePerGas the tip is the gas price minus the base fee', async () => {
  await using lane = await unasked()
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? refuses('the method does not exist', -32601) : undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('the fees of an older block are used if the current ones cannot be read', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  await lane.blocks(1)
  lane.script = ({ method }) => (method === 'eth_maxPriorityFeePerGas' ? TIMES_OUT : undefined)
  await lane.settle(lane.sender.send(transfer(2)))
  expect(lane.sent.map(({ tipWei }) => tipWei)).toEqual([TIP_WEI, TIP_WEI])
})

test('a rate limit does not mean that the method is missing: the tip is not derived', async () => {
  await using lane = await unasked()
  let asked = 0
  lane.script = ({ method }) => {
    if (method === 'eth_gasPrice') return { ok: true, result: '0x1' }
    return method === 'eth_maxPriorityFeePerGas' && asked++ < 2
      ? refuses('rate limit exceeded', -32005)
      : undefined
  }
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('a tip of zero becomes one wei: pools accept no less, and a no-op at the ceiling could not be raised', async () => {
  await using lane = await unasked()
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? { ok: true, result: '0x0' } : undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(1n)
})

describe('fee requests before the second transaction of a lane', () => {
  const GIVEN = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  const MINUTE_MS = 60_000

  /** The fee methods that were requested before the second transfer, in another block, was sent. */
  async function askedBefore(lane: SimLane, restMs: number, fees: object): Promise<string[]> {
    await lane.settle(lane.sender.send(transfer(1)).then((tx) => tx.wait('sealed')))
    await lane.clock.advance(restMs)
    await lane.blocks(1)
    const from = lane.requests.length
    await lane.settle(lane.sender.send({ ...transfer(2), ...fees } as never))
    const methods = lane.requests.slice(from).flatMap((batch) => batch.map(({ method }) => method))
    return methods
      .slice(0, methods.indexOf('eth_sendRawTransaction'))
      .filter((method) => /gas|fee/i.test(method))
  }

  test('are not made for a transaction with its own fees, after any pause', async () => {
    await using lane = await openLane()
    expect(await askedBefore(lane, MINUTE_MS, GIVEN)).toEqual([])
  })

  test('are not made while the tip is recent: the base fee comes with the blocks', async () => {
    await using lane = await openLane()
    expect(await askedBefore(lane, 0, {})).toEqual([])
    const [, second] = lane.sent
    expect(second?.tipWei).toBe(TIP_WEI)
    expect(lane.requests.flat().filter(({ method }) => method === 'eth_maxPriorityFeePerGas')).toHaveLength(2)
  })

  test('the tip if it is old', async () => {
    await using lane = await openLane()
    expect(await askedBefore(lane, MINUTE_MS, {})).toEqual(['eth_maxPriorityFeePerGas'])
  })
})

test('a tip that cannot be read any more is requested with growing pauses, and one error is emitted', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  let asked = 0
  lane.script = ({ method }) => {
    if (method !== 'eth_maxPriorityFeePerGas') return undefined
    asked++
    return refuses('internal error')
  }
  // A transaction every 0.6 s: each needs a gas price.
  for (let marker = 2; marker < 102; marker++) {
    void lane.sender.send(transfer(marker))
    await lane.clock.advance(600)
  }
  // 0.5, 1, 2, 4, 8 and 10 s apart.
  expect(asked).toBeGreaterThan(4)
  expect(asked).toBeLessThanOrEqual(11)
  const errors = lane.events('error').map(({ error }) => String(error))
  expect(errors).toEqual([
    expect.stringContaining('eth_maxPriorityFeePerGas brought no answer: internal error'),
  ])
  lane.script = undefined
  await lane.until(() => lane.executed().length === 101)
  expect(new Set(lane.sent.map(({ tipWei }) => tipWei))).toEqual(new Set([TIP_WEI]))
})

test('a price at an unverified block fixes no ceiling: the first one at a verified block does', async () => {
  await using lane = await unasked()
  // Block 0 is still readable by its number.
  await lane.clock.advance(3_000)
  const [latest] = await lane.settle(lane.port.batch([headerCall('latest')], { timeoutMs: 1_000 }))
  const header = (latest as { result: object }).result
  let isBlind = true
  lane.script = ({ method, params }) => {
    if (!isBlind) return undefined
    if (method === 'eth_maxPriorityFeePerGas') return { ok: true, result: '0x1' }
    if (method !== 'eth_getBlockByNumber') return undefined
    if (params[0] === 'latest') return { ok: true, result: { ...header, baseFeePerGas: '0x1' } }
    return Number(params[0]) > 0 ? TIMES_OUT : undefined
  }
  const sent = lane.sender.send(transfer(1), { until: 'queued' })
  const tx = await lane.settle(sent)
  await lane.clock.advance(3_000)
  expect(lane.sent[0]?.maxFeeWei).toBeLessThan(10n)
  isBlind = false
  await lane.settle(tx.wait('sealed'))
  expect(lane.executed()).toEqual([1])
})
