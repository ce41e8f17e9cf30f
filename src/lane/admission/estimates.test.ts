import { describe, expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import { openLane, refuses, type Script, type SimLane, TIMES_OUT } from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import type { TxRequest } from '../../types/index.js'

const call = (marker: number) => programRequest({ kind: 'call', marker }) as TxRequest
const onEstimate =
  (reply: () => RpcReply | undefined): Script =>
  ({ method }) =>
    method === 'eth_estimateGas' ? reply() : undefined
const asked = (lane: SimLane) =>
  lane.requests.flat().filter(({ method }) => method === 'eth_estimateGas').length

describe('an estimate that fails permanently with an unknown message', () => {
  test.each([
    'max code size exceeded',
    'gas uint64 overflow',
    'return data out of bounds',
    'invalid code: must not begin with 0xef',
    'point is not on curve',
  ])(
    '%s: after three equal answers at different blocks it is rejected with the message of the node',
    async (words) => {
      await using lane = await openLane()
      lane.script = onEstimate(() => refuses(words))
      const startMs = lane.clock.now()
      const error = await lane.rejection(lane.sender.send(call(1)))
      expect(error).toMatchObject({
        code: 'PREPARE_REVERTED',
        fate: 'notExecuted',
        details: `sim said: ${words}`,
      })
      expect(asked(lane)).toBe(3)
      expect(lane.clock.now() - startMs).toBeLessThan(9_000)
      expect(lane.sent).toEqual([])
    },
  )

  test('on a chain without new blocks a pause separates the answers', async () => {
    await using lane = await openLane({ chain: { rules: 'latest', blockTimeMs: 1_000_000_000 } })
    lane.script = onEstimate(() => refuses('point is not on curve'))
    const startMs = lane.clock.now()
    const error = await lane.rejection(lane.sender.send(call(1)))
    expect(error).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    expect([asked(lane), lane.clock.now() - startMs < 6_000]).toEqual([3, true])
  })

  test('is sent if the estimate succeeds after two failures', async () => {
    await using lane = await openLane()
    let answers = 0
    lane.script = onEstimate(() => (answers++ < 2 ? refuses('point is not on curve') : undefined))
    const tx = await lane.settle(lane.sender.send(call(1)))
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1])
  })

  test('messages that differ only in numbers are equal; another message restarts the count', async () => {
    await using lane = await openLane()
    let answers = 0
    lane.script = onEstimate(() =>
      refuses(answers++ < 2 ? 'the moon is full' : `no room at block ${answers}`),
    )
    const error = await lane.rejection(lane.sender.send(call(1)))
    expect(error.details).toBe('sim said: no room at block 5')
  })

  test('a timeout and an internal error do not count as an answer about the request', async () => {
    for (const reply of [TIMES_OUT, refuses('internal error'), refuses('point is not on curve', -32603)]) {
      await using lane = await openLane()
      lane.script = onEstimate(() => reply)
      const error = await lane.rejection(lane.sender.send(call(1)))
      expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    }
  })
})

describe('an absurd estimate: below the intrinsic cost, or above the gas of a block', () => {
  const ABSURD = ['0x0', '0x1', '0x5207', '0x1c9c381', `0x${'f'.repeat(64)}`]

  test.each(ABSURD)('%s for a while ends no transaction: all twenty are sent', async (result) => {
    await using lane = await openLane()
    lane.script = onEstimate(() => ({ ok: true, result }))
    const sends = Array.from({ length: 20 }, (_, index) => lane.sender.send(call(index + 1)))
    await lane.clock.advance(40_000)
    expect([lane.events('failed'), lane.sent]).toEqual([[], []])
    lane.script = undefined
    const txs = await lane.settle(Promise.all(sends))
    await lane.settle(Promise.all(txs.map((tx) => tx.wait())))
    expect(lane.executed()).toHaveLength(20)
  })

  test.each(ABSURD)(
    '%s from the reader: another endpoint is asked, and the transaction is sent at once',
    async (result) => {
      await using several = await openSeveral(['both', 'both'])
      const { lane, sender, endpoints } = several
      const [absurd] = endpoints
      if (absurd) absurd.script = onEstimate(() => ({ ok: true, result }))
      const tx = await lane.settle(sender.send(call(1)), 1_000)
      await lane.settle(tx.wait())
      expect(lane.executed()).toEqual([1])
    },
  )

  test('a failure at the other endpoint does not count: the reader is asked again', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [absurd, failing] = endpoints
    let answers = 0
    if (absurd) absurd.script = onEstimate(() => (answers++ === 0 ? { ok: true, result: '0x0' } : undefined))
    if (failing) failing.script = onEstimate(() => refuses('execution reverted'))
    const tx = await lane.settle(sender.send(call(1)))
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1])
  })

  test('an error message from the reader is an answer: no other endpoint is asked', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [first, second] = endpoints
    if (first) first.script = onEstimate(() => refuses('point is not on curve'))
    expect(await lane.rejection(sender.send(call(1)))).toMatchObject({ code: 'PREPARE_REVERTED' })
    expect(second?.calls.filter(({ method }) => method === 'eth_estimateGas')).toEqual([])
  })
})

describe('gas below the intrinsic cost of the transaction', () => {
  const TO = `0x${'11'.repeat(20)}` as const
  const LEAST: readonly (readonly [string, object, bigint])[] = [
    ['a transfer', { to: TO }, 21_000n],
    ['calldata, 4 a zero byte and 16 another', { to: TO, data: '0x00ff' }, 21_020n],
    ['a creation', { data: '0x60' }, 53_016n],
    [
      'an access list',
      { to: TO, accessList: [{ address: TO, storageKeys: [`0x${'00'.repeat(32)}`] }] },
      25_300n,
    ],
    ['an authorization', { to: TO, authorize: [{ contractAddress: TO }] }, 46_000n],
  ]
  test.each(LEAST)(
    '%s: INVALID at once, with nothing sent; the exact minimum is accepted',
    async (_, request, least) => {
      await using lane = await openLane()
      const error = await lane.rejection(lane.sender.send({ ...request, gas: least - 1n } as TxRequest))
      expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
      expect(error.message).toContain(`request.gas: expected at least ${least}`)
      expect([lane.sent, lane.events('queued')]).toEqual([[], []])
      const given = { ...request, gas: least } as TxRequest
      await lane.settle(lane.sender.send(given, { until: 'queued' }))
    },
  )

  test('the floor of EIP-7623 applies only if a header shows Prague', async () => {
    const data = `0x${'ff'.repeat(100)}`
    for (const [prague, code] of [
      [true, 'INVALID'],
      [false, undefined],
    ] as const) {
      await using lane = await openLane({ closed: true })
      lane.chain.start()
      // 21,000 + 100 * 16 < 22,900 < 21,000 + 100 * 40.
      const request = { to: TO, data, gas: 22_900n } as TxRequest
      const shows = (reply: RpcReply): RpcReply =>
        reply.ok && prague && reply.result !== null
          ? { ok: true, result: { ...(reply.result as object), requestsHash: `0x${'e3'.repeat(32)}` } }
          : reply
      const { batch } = lane.port
      Object.assign(lane.port, {
        batch: async (...asked: Parameters<typeof batch>) =>
          (await batch(...asked)).map((reply, at) =>
            asked[0][at]?.method === 'eth_getBlockByNumber' ? shows(reply) : reply,
          ),
      })
      await lane.settle(lane.sender.ready())
      const sending = lane.sender.send(request, { until: 'accepted' })
      const ended = await lane.settle(
        sending.then(
          () => undefined,
          (error: { code: string }) => error.code,
        ),
      )
      expect(ended).toBe(code)
    }
  })
})

test('repeated estimates share their requests, however many there are', async () => {
  await using lane = await openLane()
  const requests = () =>
    lane.requests.filter((calls) => calls.some(({ method }) => method === 'eth_estimateGas'))
  lane.script = onEstimate(() => refuses('internal error', -32603))
  const sent = Array.from({ length: 30 }, (_, index) => lane.sender.send(call(index + 1)))
  await lane.until(() => asked(lane) >= 30)
  const first = requests().length
  await lane.clock.advance(1_000)
  expect(asked(lane)).toBeGreaterThanOrEqual(90)
  expect(requests().length - first).toBeLessThanOrEqual(10)
  lane.script = undefined
  await lane.settle(Promise.all(sent))
})

test('an estimate that is too high for the balance is repeated, and the transaction is sent', async () => {
  await using lane = await openLane({ balanceWei: 10n ** 12n })
  let isHigh = true
  lane.script = onEstimate(() => (isHigh ? { ok: true, result: '0x1312d00' } : undefined))
  const sent = lane.sender.send(call(1))
  await lane.until(() => lane.events('held').some(({ reason }) => reason === 'starved'))
  isHigh = false
  const tx = await lane.settle(sent)
  await lane.settle(tx.wait('sealed'))
  expect(lane.executed()).toEqual([1])
  expect(asked(lane)).toBeLessThan(6)
})
