import { ContractFunctionRevertedError, encodeErrorResult, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import type { RpcReply } from '../../rpc/port.js'
import type { TxRequest } from '../../types/index.js'
import {
  nameOf,
  onSend,
  openLane,
  refuses,
  type SimLane,
  swallow,
  swallows,
  transfer,
} from './simLane.fixture.js'

const asked = (lane: SimLane, method: string) =>
  lane.requests.flatMap((calls) => calls.filter((call) => call.method === method))

/** A request whose gas the lane has to estimate. */
const program = (...parameters: Parameters<typeof programRequest>) =>
  programRequest(...parameters) as TxRequest
const REVERTS = program({ kind: 'revert', marker: 9 })

test('a transaction without a waiting caller is followed too: it is resent if dropped, and its events are emitted', async () => {
  await using lane = await openLane()
  await lane.blocks(5)
  let dropped = 0
  lane.script = onSend((tx) => (dropped++ === 0 ? swallows(tx) : undefined))
  await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
  await lane.until(() => lane.events('sealed').length > 0)
  expect(lane.executed()).toEqual([1])
})

describe('prepare: every step that can fail runs before a nonce is taken', () => {
  test('given gas is not estimated; missing gas is estimated once, at the pending block', async () => {
    await using lane = await openLane()
    await lane.settle(lane.sender.send(transfer(1)))
    expect(asked(lane, 'eth_estimateGas')).toEqual([])
    await lane.settle(lane.sender.send(program({ kind: 'call', marker: 2 })))
    const estimates = asked(lane, 'eth_estimateGas')
    expect(estimates).toHaveLength(1)
    expect(estimates[0]?.params[1]).toBe('pending')
  })

  test('gasMultiplier multiplies an estimate and leaves given gas alone', async () => {
    await using lane = await openLane({ gasMultiplier: 1.5 })
    await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(lane.sender.send(program({ kind: 'transfer', marker: 2 })))
    expect(lane.sent.map(({ gas }) => gas)).toEqual([21_000, 31_500])
  })

  test('P8: an estimate that reverts: PREPARE_REVERTED, notExecuted, no nonce used and nothing sent', async () => {
    await using lane = await openLane()
    const error = await lane.rejection(lane.sender.send(REVERTS, { id: 'a' }))
    expect(error).toMatchObject({
      code: 'PREPARE_REVERTED',
      fate: 'notExecuted',
      tx: { id: 'a', stage: 'failed' },
    })
    expect(lane.sent).toEqual([])
    expect(await lane.snapshot()).toMatchObject({ cursor: 0, queued: 0 })
  })

  test('simulate also runs a request with given gas', async () => {
    await using lane = await openLane({ simulate: true })
    const error = await lane.rejection(lane.sender.send({ ...REVERTS, gas: 100_000n } as TxRequest))
    expect(error).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    expect(asked(lane, 'eth_call').length).toBeGreaterThan(0)
  })

  test('without simulate the lane sends it; a reverted transaction is executed and never resent', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send({ ...REVERTS, gas: 100_000n } as TxRequest))
    expect(await lane.settle(tx.wait())).toMatchObject({ status: 'reverted', stage: 'sealed' })
    expect(await lane.rejection(tx.wait('sealed', { throwOnRevert: true }))).toMatchObject({
      code: 'REVERTED',
      fate: 'executed',
    })
    await lane.blocks(4)
    expect(lane.sent).toHaveLength(1)
    expect(lane.events('reverted')).toHaveLength(1)
  })

  test('an estimate that depends on a transaction in flight is retried at each head until that one is covered', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const first = await lane.settle(
      lane.sender.send({ ...program({ kind: 'call', marker: 1 }), gas: 90_000n } as TxRequest),
    )
    const second = lane.sender.send(program({ kind: 'dependent', marker: 2, needs: 1 }))
    await lane.blocks(2)
    expect(asked(lane, 'eth_estimateGas').length).toBeGreaterThan(1)
    lane.script = undefined
    await lane.settle(first.wait())
    await lane.settle((await lane.settle(second)).wait())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('an estimate that depends on a request of the same turn is retried once that one is in a block', async () => {
    await using lane = await openLane()
    const [first, second] = [
      program({ kind: 'call', marker: 1 }),
      program({ kind: 'dependent', marker: 2, needs: 1 }),
    ]
    const all = await lane.settle(Promise.all([first, second].map((request) => lane.sender.send(request))))
    await lane.settle(Promise.all(all.map((tx) => tx.wait())))
    expect(lane.executed()).toEqual([1, 2])
  })

  test('while an estimate waits for a head, later transactions go on', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    await lane.settle(
      lane.sender.send({ ...program({ kind: 'call', marker: 1 }), gas: 90_000n } as TxRequest),
    )
    const second = lane.settle(lane.sender.send(program({ kind: 'dependent', marker: 2, needs: 1 })))
    const third = await lane.settle(lane.sender.send(transfer(3)), 1_000)
    expect(third.nonce).toBe(1)
    lane.script = undefined
    await lane.settle((await second).wait())
  })

  test("writeContract: viem's decoded custom error is found by walk", async () => {
    const abi = parseAbi(['function take(uint256 amount)', 'error TooMuch(uint256 left)'])
    const data = encodeErrorResult({ abi, errorName: 'TooMuch', args: [7n] })
    await using lane = await openLane()
    const reverted: RpcReply = {
      ok: false,
      failure: { kind: 'rpc', code: 3, message: 'execution reverted', data },
    }
    lane.script = ({ method }) => (method === 'eth_estimateGas' ? reverted : undefined)
    const address = `0x${'c0de'.repeat(10)}` as const
    const call = { abi, address, functionName: 'take', args: [8n] } as never
    const error = await lane.rejection(lane.sender.writeContract(call))
    expect(error).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    const found = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
    expect(found).toMatchObject({ data: { errorName: 'TooMuch', args: [7n] } })
  })

  test('an endpoint that cannot estimate is asked again, and its error is reported in the end', async () => {
    await using lane = await openLane()
    lane.script = ({ method }) =>
      method === 'eth_estimateGas' ? refuses('over rate limit', -32016) : undefined
    const error = await lane.rejection(lane.sender.send(program({ kind: 'call', marker: 1 })))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(asked(lane, 'eth_estimateGas').length).toBeGreaterThan(5)
  })
})

describe('the queue', () => {
  test('first come, first served; a higher priority goes first', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const queue = (marker: number, priority?: number) =>
      lane.settle(lane.sender.send(transfer(marker), { until: 'queued', priority }))
    for (const marker of [1, 2, 3]) await queue(marker)
    await queue(4, 5)
    await queue(5, 5)
    const last = await queue(6, -1)
    lane.sender.resume()
    await lane.settle(last.wait())
    expect(lane.executed()).toEqual([4, 5, 1, 2, 3, 6])
  })

  test('P9: one more than queueMax is QUEUE_FULL, at once, notExecuted', async () => {
    await using lane = await openLane({ limits: { queueMax: 2 } })
    lane.sender.pause()
    for (const marker of [1, 2]) await lane.settle(lane.sender.send(transfer(marker), { until: 'queued' }))
    const error = await lane.rejection(lane.sender.send(transfer(3)))
    expect(error).toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
    lane.sender.resume()
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('P5: a known id at any stage is no new transaction for a full queue', async () => {
    await using lane = await openLane({ limits: { queueMax: 1 } })
    const done = await lane.settle(lane.sender.send(transfer(1), { id: 'done' }))
    await lane.settle(done.wait('finalized'))
    lane.sender.pause()
    const waits = { id: 'waits', until: 'queued' } as const
    for (const stage of ['queued', 'queued'])
      expect(await lane.settle(lane.sender.send(transfer(2), waits))).toMatchObject({ stage })
    expect(await lane.settle(lane.sender.send(transfer(1), { id: 'done' }))).toMatchObject({
      stage: 'finalized',
    })
    const full = await lane.rejection(lane.sender.send(transfer(3), { id: 'new' }))
    expect(full).toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
  })

  test('P4: the same id and request is one transaction, concurrently and after its end', async () => {
    await using lane = await openLane()
    const send = () => lane.sender.send(transfer(1), { id: 'a' })
    const [first, second] = await lane.settle(Promise.all([send(), send()]))
    expect(second).toBe(first)
    await lane.settle(first.wait('finalized'))
    await lane.blocks(1)
    const third = await lane.settle(send())
    expect(third).toMatchObject({ id: 'a', hash: first.hash })
    expect(lane.executed()).toEqual([1])
  })

  test('another request with the same id is ID_CONFLICT, unless only fees and gas differ', async () => {
    await using lane = await openLane()
    const first = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    const dearer = { ...transfer(1), gas: 50_000n, maxFeePerGas: 9_000_000n } as TxRequest
    expect(await lane.settle(lane.sender.send(dearer, { id: 'a' }))).toBe(first)
    const error = await lane.rejection(lane.sender.send(transfer(2), { id: 'a' }))
    expect(error).toMatchObject({ code: 'ID_CONFLICT', tx: { id: 'a' } })
    await lane.settle(first.wait())
    expect(lane.executed()).toEqual([1])
  })

  test('P9: no more than `window` nonces are uncovered', async () => {
    await using lane = await openLane({ limits: { window: 3, windowMax: 3 } })
    lane.script = swallow(1, 2, 3, 4, 5)
    for (const marker of [1, 2, 3, 4, 5])
      await lane.settle(lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.clock.advance(1_000)
    expect(lane.sent.map(nameOf)).toEqual([1, 2, 3])
    lane.script = undefined
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
  })
})

describe('fees', () => {
  test('fee reads without an answer are repeated less and less often, and the lane goes on after an answer', async () => {
    await using lane = await openLane({ closed: true })
    const isMarket = ({ method }: { method: string }) =>
      /feeHistory|gasPrice|maxPriorityFeePerGas/i.test(method)
    lane.script = (call) => (isMarket(call) ? refuses('internal error', -32603) : undefined)
    lane.chain.start()
    await lane.settle(lane.sender.ready())
    const sent = lane.sender.send(transfer(1))
    await lane.clock.advance(3_000)
    const before = lane.requests.length
    const asked = () => lane.requests.slice(before).filter((calls) => calls.some(isMarket)).length
    await lane.clock.advance(60_000)
    expect(asked()).toBeGreaterThanOrEqual(60_000 / 3_000 - 2)
    expect(asked()).toBeLessThanOrEqual(60_000 / 3_000 + 2)
    lane.script = undefined
    await lane.settle(sent, 3_500)
  })

  test('fees are read once per block for any number of transactions', async () => {
    await using lane = await openLane()
    const all = Array.from({ length: 40 }, (_, n) => lane.sender.send(transfer(n + 1)))
    await lane.settle(Promise.all(all))
    expect(asked(lane, 'eth_maxPriorityFeePerGas').length).toBeLessThanOrEqual(lane.chain.head.number + 1)
  })

  test('fees in the request are those of the first attempt, also legacy ones', async () => {
    await using lane = await openLane()
    const fees = { maxFeePerGas: 5_000_000n, maxPriorityFeePerGas: 77n }
    await lane.settle(lane.sender.send({ ...transfer(1), ...fees } as TxRequest))
    await lane.settle(lane.sender.send({ ...transfer(2), gasPrice: 6_000_000n } as TxRequest))
    expect(lane.sent).toMatchObject([
      { type: 'eip1559', maxFeeWei: 5_000_000n, tipWei: 77n },
      { type: 'legacy', maxFeeWei: 6_000_000n },
    ])
  })

  test.each(['legacy', 'eip2930'] as const)(
    'a request of type %s pays the market as its gas price',
    async (type) => {
      await using lane = await openLane()
      const tx = await lane.settle(lane.sender.send({ ...transfer(1), type } as TxRequest))
      expect(lane.sent).toMatchObject([{ type, maxFeeWei: 2_100_000n }])
      await lane.settle(tx.wait())
    },
  )

  test('fees.estimate replaces the estimate, and the ceiling is ten times the first estimate', async () => {
    let asks = 0
    const estimate = async () => ({ maxFeePerGas: 2_500_000n + BigInt(asks++), maxPriorityFeePerGas: 3n })
    await using lane = await openLane({ fees: { estimate } })
    await lane.settle(lane.sender.send(transfer(1)))
    expect(lane.sent[0]).toMatchObject({ maxFeeWei: 2_500_000n, tipWei: 3n })
    expect(asked(lane, 'eth_maxPriorityFeePerGas')).toEqual([])
  })
})

describe('the reason for which a transaction waits', () => {
  test('after: not prepared before the predecessor has reached the stage', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const first = await lane.settle(
      lane.sender.send({ ...program({ kind: 'call', marker: 1 }), gas: 90_000n } as TxRequest),
    )
    const second = lane.sender.send(program({ kind: 'dependent', marker: 2, needs: 1 }), { after: [first] })
    await lane.blocks(1)
    expect(asked(lane, 'eth_estimateGas')).toEqual([])
    lane.script = undefined
    await lane.settle((await lane.settle(second)).wait())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('after: if the predecessor ends, the error is DEPENDENCY, notExecuted', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    const second = lane.rejection(lane.sender.send(transfer(2), { after: ['a'] }))
    await lane.settle(first.cancel())
    expect(await second).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
  })

  test("after: with afterStatus 'success' (the default) a revert is DEPENDENCY; with 'any' it goes on", async () => {
    await using lane = await openLane()
    const first = await lane.settle(lane.sender.send({ ...REVERTS, gas: 100_000n } as TxRequest))
    expect(await lane.rejection(lane.sender.send(transfer(2), { after: [first] }))).toMatchObject({
      code: 'DEPENDENCY',
    })
    const third = await lane.settle(lane.sender.send(transfer(3), { after: [first], afterStatus: 'any' }))
    await lane.settle(third.wait())
    expect(lane.executed()).toEqual([9, 3])
  })
})
