import { decodeFunctionData, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { createDataFees } from './dataFees.js'

const PREDEPLOY = '0x420000000000000000000000000000000000000F'
const DECLARED = '0x4200000000000000000000000000000000000042'
const word = (wei: bigint): `0x${string}` => `0x${wei.toString(16).padStart(64, '0')}`

/** A hub whose node answers for a thousand bytes. */
function hubWith(options: { declared?: boolean; answer?: () => RpcReply } = {}) {
  const calls: RpcCall[] = []
  const head = { hash: '0x1' }
  const port = {
    async batch(all: readonly RpcCall[]) {
      calls.push(...all)
      return all.map(() => options.answer?.() ?? { ok: true, result: word(5_000n) })
    },
  }
  const contracts = options.declared ? { gasPriceOracle: { address: DECLARED } } : undefined
  const fees = createDataFees(
    { tracker: { newest: head }, chain: { contracts }, reader: { port } } as never,
    1_000,
  )
  return { fees, calls, head }
}

describe('the reads of the data fee', () => {
  test('no reads on a chain without such a fee', async () => {
    const { fees, calls } = hubWith()
    fees.shown({ status: '0x1', l1Fee: null })
    await fees.sample()
    expect(calls).toEqual([])
    expect(fees.of(1_000)).toBe(0n)
    expect(fees.isCharged).toBe(false)
  })

  test("the contract of viem's chain definition, for a thousand bytes, once for each newest block", async () => {
    const { fees, calls, head } = hubWith({ declared: true })
    await Promise.all([fees.sample(), fees.sample()])
    await fees.sample()
    expect(calls).toHaveLength(1)
    const [{ method, params }] = calls as [RpcCall]
    expect(method).toBe('eth_call')
    const { to, data } = params[0] as { to: string; data: `0x${string}` }
    expect(to).toBe(DECLARED)
    const abi = parseAbi(['function getL1FeeUpperBound(uint256) view returns (uint256)'])
    expect(decodeFunctionData({ abi, data }).args).toEqual([1_000n])
    head.hash = '0x2'
    await fees.sample()
    expect(calls).toHaveLength(2)
  })

  test('the predeploy of the stack, once a receipt has shown the fee', async () => {
    const { fees, calls } = hubWith()
    fees.shown({ l1Fee: '0x0' })
    expect(fees.isCharged).toBe(true)
    await fees.sample()
    expect(calls).toMatchObject([{ params: [{ to: PREDEPLOY }, 'latest'] }])
  })
})

describe('the amount of the data fee', () => {
  test('the share of the sample, rounded up', async () => {
    const { fees } = hubWith({ declared: true })
    await fees.sample()
    expect([0, 1, 199, 200, 1_000].map(fees.of)).toEqual([0n, 5n, 995n, 1_000n, 5_000n])
  })

  const NO_ANSWERS: readonly RpcReply[] = [
    { ok: false, failure: { kind: 'timeout', message: 'late' } },
    { ok: true, result: '0x' },
    { ok: true, result: null },
  ]
  test.each(NO_ANSWERS)('the former sample where there is no answer: %o', async (reply) => {
    let answer: RpcReply = { ok: true, result: word(7_000n) }
    const { fees, head } = hubWith({ declared: true, answer: () => answer })
    await fees.sample()
    answer = reply
    head.hash = '0x2'
    await fees.sample()
    expect(fees.of(1_000)).toBe(7_000n)
  })
})

test('a lane counts it as soon as a receipt has shown it: the shortage is noticed before a node refuses', async () => {
  const GAS_WEI = 21_000n * 2_100_000n
  await using lane = await openLane({ balanceWei: 2n * GAS_WEI })
  lane.script = ({ method, params }) => {
    const { to } = (params[0] ?? {}) as { to?: string }
    return method === 'eth_call' && to === PREDEPLOY ? { ok: true, result: word(10n ** 15n) } : undefined
  }
  const first = await lane.settle(lane.sender.send(transfer(1)))
  await lane.blocks(2)
  const [reply] = await lane.settle(
    lane.port.batch([{ method: 'eth_getTransactionReceipt', params: [first.hash] }], { timeoutMs: 1_000 }),
  )
  const receipt = { ...(reply as { result: object }).result, l1Fee: '0x1' }
  const { script } = lane
  lane.script = (call, tx) =>
    call.method === 'eth_getTransactionReceipt' ? { ok: true, result: receipt } : script?.(call, tx)
  await lane.settle(first.wait('sealed'))
  await lane.clock.advance(12_000)
  const sent = lane.sent.length
  const next = await lane.settle(lane.sender.send(transfer(2), { until: 'queued' }))
  await lane.blocks(3)
  expect(lane.sent.length).toBe(sent)
  expect((await lane.snapshot()).holds).toEqual(['starved'])
  await lane.settle(next.cancel())
})
