import { describe, expect, test } from 'vitest'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import { onSend, refuses, swallow, transfer } from '../../api/sender/simLane.fixture.js'
import type { TxRequest } from '../../types/index.js'

const without = (field: 'gas', request: TxRequest): TxRequest => {
  const { [field]: _, ...rest } = request as { gas?: bigint }
  return rest as TxRequest
}

describe("a private transaction's bytes go to `send` endpoints and to no other", () => {
  test.each(['first', 'all'] as const)('broadcast %s: one between two that are public', async (broadcast) => {
    await using several = await openSeveral(['both', 'send', 'both', 'send'], { broadcast })
    const { lane, sender, endpoints } = several
    await lane.settle(sender.send(transfer(1)))
    const tx = await lane.settle(sender.send(transfer(2), { private: true }))
    await lane.settle(sender.send(transfer(3)))
    await lane.settle(tx.wait('sealed'))
    for (const { role, sent } of endpoints) if (role !== 'send') expect(sent).not.toContain(2)
    expect(endpoints.filter(({ sent }) => sent.includes(2))).toHaveLength(broadcast === 'all' ? 2 : 1)
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('for any number of resends and bumps', async () => {
    await using several = await openSeveral(['both', 'send'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    const [open, relay] = endpoints
    if (relay) relay.script = swallow(1)
    const tx = await lane.settle(sender.send(transfer(1), { private: true }))
    await lane.until(() => tx.attempts.length > 1, 60_000)
    if (relay) relay.script = undefined
    await lane.settle(tx.wait('sealed'))
    expect(relay?.sent.length).toBeGreaterThan(2)
    expect(open?.sent).toEqual([])
  })

  test('while the only private endpoint does not answer, the transaction waits, and is sent to no other endpoint', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender, endpoints } = several
    const [open, relay] = endpoints
    if (relay) relay.state = 'refuses'
    const tx = await lane.settle(sender.send(transfer(1), { private: true, until: 'queued' }))
    await lane.clock.advance(3_000)
    if (relay) relay.state = 'up'
    await lane.settle(tx.wait('sealed'))
    expect(open?.sent).toEqual([])
  })

  test('it is neither estimated nor simulated, and its hash is not asked for before a block has it', async () => {
    await using several = await openSeveral(['both', 'send'], { simulate: true })
    const { lane, sender, endpoints } = several
    const [open] = endpoints
    const tx = await lane.settle(sender.send(transfer(1), { private: true }))
    const before = JSON.stringify(open?.calls)
    await lane.settle(tx.wait('sealed'))
    const methods = open?.calls.map(({ method }) => method)
    // The probe of the endpoint also calls, a contract of the chain.
    expect(
      open?.calls.filter(({ params }) => (params[0] as { to?: unknown })?.to === transfer(1).to),
    ).toEqual([])
    expect(methods?.filter((method) => method === 'eth_estimateGas')).toEqual([])
    expect(before).not.toContain(tx.hash)
  })

  test('the no-op of its cancel reveals nothing of it, and goes to all endpoints', async () => {
    await using several = await openSeveral(['both', 'send'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    const [open, relay] = endpoints
    if (relay) relay.script = swallow(1)
    const tx = await lane.settle(sender.send(transfer(1), { private: true }))
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'cancelled' })
    expect(open?.sent.every((name) => name === 'noop')).toBe(true)
    expect(lane.executed()).toEqual(['noop'])
  })

  test('a replacement of a private transaction is private, unless its caller chooses otherwise', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender, endpoints } = several
    const [open, relay] = endpoints
    if (relay) relay.script = swallow(1, 2)
    const tx = await lane.settle(sender.send(transfer(1), { private: true }))
    const error = await lane.rejection(tx.replace(without('gas', transfer(2))))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    const second = await lane.settle(tx.replace(transfer(2), { until: 'queued' }))
    await lane.until(() => relay?.sent.includes(2) ?? false)
    expect(open?.sent).toEqual([])
    const third = await lane.settle(second.replace(transfer(3), { private: false, until: 'queued' }))
    await lane.settle(third.wait('sealed'))
    expect(open?.sent.every((name) => name === 3)).toBe(true)
    expect(lane.executed()).toEqual([3])
  })

  test('another process that takes the lane over keeps it private', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender, endpoints } = several
    const [open, relay] = endpoints
    if (relay) relay.script = swallow(1)
    await lane.settle(sender.send(transfer(1), { private: true, id: 'p' }))
    await lane.settle(sender.close())
    if (relay) relay.script = undefined
    const next = several.another()
    await lane.settle(next.ready())
    await lane.until(() => lane.executed().includes(1), 60_000)
    expect(open?.sent).toEqual([])
  })

  test('its hash is not looked up while it is in flight', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender, endpoints } = several
    const [open, relay] = endpoints
    if (relay) relay.script = onSend(() => refuses('nonce too low: next nonce 3, tx nonce 0'))
    const tx = await lane.settle(sender.send(transfer(1), { private: true, until: 'queued' }))
    await lane.clock.advance(2_000)
    const shown = JSON.stringify(open?.calls)
    for (const { hash } of tx.attempts) expect(shown).not.toContain(hash)
    if (relay) relay.script = undefined
    await lane.settle(tx.wait('sealed'))
  })
})

describe('a transaction that could not be kept private is refused at once, with nothing sent', () => {
  test('no endpoint has the role send: INVALID', async () => {
    await using several = await openSeveral(['both', 'read'])
    const { lane, sender, endpoints } = several
    const error = await lane.rejection(sender.send(transfer(1), { private: true }))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain('options.private')
    expect(endpoints.map(({ sent }) => sent)).toEqual([[], []])
  })

  test('its gas is not given: INVALID', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender, endpoints } = several
    const error = await lane.rejection(sender.send(without('gas', transfer(1)), { private: true }))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain('request.gas')
    expect(endpoints[0]?.calls.map(({ method }) => method)).not.toContain('eth_estimateGas')
  })

  test('it is no boolean: INVALID', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender } = several
    const error = await lane.rejection(sender.send(transfer(1), { private: 'yes' as never }))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
  })

  test('the same id was sent openly before: ID_CONFLICT', async () => {
    await using several = await openSeveral(['both', 'send'])
    const { lane, sender } = several
    await lane.settle(sender.send(transfer(1), { id: 'one' }))
    const error = await lane.rejection(sender.send(transfer(1), { id: 'one', private: true }))
    expect(error.code).toBe('ID_CONFLICT')
  })
})
