import { describe, expect, test } from 'vitest'
import { openLane, refuses, type SimLane, TIMES_OUT, transfer } from '../../api/sender/simLane.fixture.js'
import { headerCall } from '../../rpc/codec.js'

const TIP_WEI = 100_000n
const tipOf = (lane: SimLane) => lane.sent[0]?.tipWei

/** A lane that has not asked yet what gas costs. */
async function unasked(): Promise<SimLane> {
  const lane = await openLane({ closed: true })
  lane.chain.start()
  return lane
}

test('a tip that nobody answers for is asked for again, not made up', async () => {
  await using lane = await unasked()
  let asked = 0
  lane.script = ({ method }) => (method === 'eth_maxPriorityFeePerGas' && asked++ < 2 ? TIMES_OUT : undefined)
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.events('error').length).toBeGreaterThan(0)
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('a node without eth_maxPriorityFeePerGas: its gas price above the base fee is the tip', async () => {
  await using lane = await unasked()
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? refuses('the method does not exist', -32601) : undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(TIP_WEI)
})

test('once known, the fees of an older block are better than none', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  await lane.blocks(1)
  lane.script = ({ method }) => (method === 'eth_maxPriorityFeePerGas' ? TIMES_OUT : undefined)
  await lane.settle(lane.sender.send(transfer(2)))
  expect(lane.sent.map(({ tipWei }) => tipWei)).toEqual([TIP_WEI, TIP_WEI])
})

test('a node that is asked too often has the method all the same: its tip is not derived from something else', async () => {
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

test('a tip of nothing is one wei: pools take no less, and a no-op at the ceiling could not be raised', async () => {
  await using lane = await unasked()
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? { ok: true, result: '0x0' } : undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(tipOf(lane)).toBe(1n)
})

describe('requests before the bytes of a lane that has sent before', () => {
  const GIVEN = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  const MINUTE_MS = 60_000

  /** Of the second transfer, in another block: what was asked about fees until its bytes left. */
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

  test('nothing for who brings its own fees, however long ago', async () => {
    await using lane = await openLane()
    expect(await askedBefore(lane, MINUTE_MS, GIVEN)).toEqual([])
  })

  test('nothing while the tip is not old: the base fee comes with the blocks', async () => {
    await using lane = await openLane()
    expect(await askedBefore(lane, 0, {})).toEqual([])
    const [, second] = lane.sent
    expect(second?.tipWei).toBe(TIP_WEI)
    expect(lane.requests.flat().filter(({ method }) => method === 'eth_maxPriorityFeePerGas')).toHaveLength(2)
  })

  test('the tip, where it is old', async () => {
    await using lane = await openLane()
    expect(await askedBefore(lane, MINUTE_MS, {})).toEqual(['eth_maxPriorityFeePerGas'])
  })
})

test('a tip that is not had any more is asked for with growing pauses, and that is told once', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  let asked = 0
  lane.script = ({ method }) => {
    if (method !== 'eth_maxPriorityFeePerGas') return undefined
    asked++
    return refuses('internal error')
  }
  // A burst at each block: each transaction wants to know what gas costs.
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

test('a price beside a block that was not walked fixes no ceiling: the first one beside a walked block does', async () => {
  await using lane = await unasked()
  // Block 0 is read by its number all the same.
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
