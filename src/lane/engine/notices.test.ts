import { describe, expect, test, vi } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import {
  ACCOUNT,
  openLane,
  type SimLane,
  type SimLaneOptions,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcFailure } from '../../rpc/port.js'

/** A lane whose account has no money, with a transaction that waits for it. */
async function unfunded(options: SimLaneOptions = {}) {
  const lane = await openLane({ balanceWei: 0n, ...options })
  const sent = lane.sender.send(transfer(1)).catch((error: unknown) => error)
  return { lane, sent }
}

const fund = (lane: SimLane) => lane.chain.adjust({ address: ACCOUNT, balanceWei: 10n ** 18n })

describe('a lane that waits for an operator writes a notice to the console once, with the way to end it', () => {
  test('an account without money', async () => {
    const { lane, sent } = await unfunded()
    await using _ = lane
    await lane.clock.advance(60_000)
    expect(lane.warned).toHaveLength(1)
    expect(lane.warned[0]).toMatch(/^txlane: 0x0{38}aa on chain \d+: .*when the account has more money\.$/)
    fund(lane)
    await lane.settle(sent)
  })

  test('and again for the second occurrence', async () => {
    const { lane, sent } = await unfunded()
    await using _ = lane
    await lane.clock.advance(10_000)
    fund(lane)
    await lane.settle(sent)
    await lane.blocks(2)
    expect(lane.warned).toHaveLength(1)
    lane.chain.adjust({ address: ACCOUNT, balanceWei: -(10n ** 18n) })
    await lane.blocks(2)
    const again = lane.sender.send(transfer(2)).catch((error: unknown) => error)
    await lane.clock.advance(60_000)
    expect(lane.warned).toHaveLength(2)
    fund(lane)
    await lane.settle(again)
  })

  test('an endpoint that gives no usable answer', async () => {
    const failures: readonly RpcFailure[] = [
      { kind: 'network', message: 'connect ECONNREFUSED' },
      { kind: 'http', status: 503, message: 'HTTP 503' },
    ]
    for (const failure of failures) {
      await using lane = await openLane()
      lane.refusal = (calls) => calls.map(() => ({ ok: false, failure }))
      const sent = lane.sender.send(transfer(1))
      await lane.clock.advance(60_000)
      expect(lane.warned).toHaveLength(1)
      expect(lane.warned[0]).toContain(
        `The endpoint sim answers nothing of use; it said: "${failure.message}"`,
      )
      expect(lane.warned[0]).toContain('`endpoints`')
      lane.refusal = undefined
      await lane.settle(sent)
    }
  })

  test('but not for states that end by themselves: a short outage, a pause, a busy lane', async () => {
    await using lane = await openLane()
    lane.refusal = (calls) => calls.map(() => ({ ok: false, failure: { kind: 'network', message: 'reset' } }))
    const sent = lane.sender.send(transfer(1))
    await lane.clock.advance(5_000)
    lane.refusal = undefined
    await lane.settle(sent)
    lane.sender.pause()
    await lane.clock.advance(30_000)
    lane.sender.resume()
    expect(lane.warned).toEqual([])
  })
})

describe('the console stays empty', () => {
  test('with `logger: false`', async () => {
    const { lane, sent } = await unfunded({ logger: false })
    await using _ = lane
    await lane.clock.advance(60_000)
    expect(lane.warned).toEqual([])
    fund(lane)
    await lane.settle(sent)
  })

  test('with a logger, which receives the wait itself', async () => {
    const warn = vi.fn()
    const { lane, sent } = await unfunded({ logger: { info() {}, warn } })
    await using _ = lane
    await lane.clock.advance(60_000)
    expect(lane.warned).toEqual([])
    expect(warn).toHaveBeenCalled()
    fund(lane)
    await lane.settle(sent)
  })
})

test('each sender of a lane has its own logger, while it is open', async () => {
  const [first, second] = [vi.fn(), vi.fn()]
  await using lane = await openLane({ logger: { info() {}, warn: first } })
  const sender = createSenderIn(lane.environment, {
    ...lane.parameters,
    logger: { info() {}, warn: second },
  })
  await lane.settle(sender.ready())
  lane.sender.pause()
  expect(first).toHaveBeenCalledTimes(1)
  expect(second).toHaveBeenCalledTimes(1)
  await lane.settle(sender.close())
  lane.sender.resume()
  expect(first).toHaveBeenCalledTimes(2)
  expect(second).toHaveBeenCalledTimes(1)
})
