import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import type { Health, Sender } from '../../types/index.js'
import { createPool } from '../pool/pool.js'
import { openProcesses } from './processes.fixture.js'
import { createMemberIn, type createSenderIn } from './sender.js'
import {
  ACCOUNT,
  nameOf,
  onSend,
  openLane,
  type SimLane,
  swallow,
  TIMES_OUT,
  transfer,
} from './simLane.fixture.js'

const WELL: Health = { live: true, ready: true, inFlight: 0, queued: 0, reasons: [] }
const SILENCE = 'no answer in time'

/** The health, and the number of requests that the endpoint saw for it. */
async function probe(lane: SimLane): Promise<readonly [Health, number]> {
  const before = lane.requests.length
  const health = lane.sender.health()
  await lane.clock.advance(0)
  return [health, lane.requests.length - before]
}

describe('a nonce is in flight if it was taken and no sealed block has used it', () => {
  test('a burst that has landed leaves nothing in flight, although its finality is not known yet', async () => {
    await using lane = await openLane({ lossDepth: 12 })
    const markers = Array.from({ length: 45 }, (_, index) => index + 1)
    lane.script = swallow(...markers)
    const sent = await lane.settle(Promise.all(markers.map((marker) => lane.sender.send(transfer(marker)))))
    const counted = async () => [
      (await lane.snapshot()).inFlight,
      lane.sender.health().inFlight,
      lane.sender.inFlight().length,
    ]
    expect(await counted()).toEqual([45, 45, 45])
    lane.script = undefined
    await lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))
    expect(await counted()).toEqual([0, 0, 0])
    // Their block has left the chain. They may execute in another block.
    lane.chain.reorg({ depth: 1, drops: () => true })
    await lane.until(() => lane.sender.health().inFlight > 0)
    expect(new Set(await counted()).size).toBe(1)
  })

  test('a no-op counts as a nonce in flight and not as a transaction', async () => {
    await using lane = await openLane()
    lane.script = swallow(1, 'noop')
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const cancelling = tx.cancel()
    await lane.until(() => lane.sent.some((one) => nameOf(one) === 'noop'))
    expect([lane.sender.health().inFlight, (await lane.snapshot()).inFlight]).toEqual([1, 1])
    lane.script = swallow(1)
    await lane.settle(cancelling)
    expect([lane.sender.health().inFlight, lane.sender.inFlight()]).toEqual([0, []])
  })

  test('a process that does not own the lane counts the transactions that it knows', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    lane.script = swallow(1)
    const tx = await lane.settle(standby.sender.send(transfer(1)))
    for (const { sender } of [leader, standby]) {
      expect(sender.health()).toMatchObject({ inFlight: 1, queued: 0 })
      expect((await lane.settle(sender.snapshot())).inFlight).toBe(1)
    }
    lane.script = undefined
    await lane.settle(tx.wait('sealed'))
    for (const { sender } of [leader, standby]) expect(sender.health().inFlight).toBe(0)
  })
})

describe('health() sends no request', () => {
  test('a sender whose lane is not open is not ready, and health() does not open the lane', async () => {
    await using lane = await openLane({ closed: true })
    lane.chain.start()
    const opening = { for: 'opening', address: ACCOUNT, operator: false, stops: 'ready' }
    const closed = { live: true, ready: false, reasons: [opening] }
    expect(await probe(lane)).toMatchObject([closed, 0])
    await lane.settle(lane.sender.ready())
    expect(await probe(lane)).toEqual([WELL, 0])
  })

  test('reports why and since when a lane could not be opened, and forgets it once the lane is open', async () => {
    await using lane = await openLane({ closed: true, limits: { readyTimeoutMs: 500 } })
    lane.chain.start()
    lane.refusal = (calls) => calls.map(() => TIMES_OUT)
    const startedMs = lane.clock.wallNow()
    await lane.rejection(lane.sender.ready())
    const failedMs = lane.clock.wallNow()
    await lane.rejection(lane.sender.ready())
    const { ready, live, reasons } = lane.sender.health()
    expect({ ready, live }).toEqual({ ready: false, live: true })
    expect(reasons).toMatchObject([{ for: 'opening', said: expect.stringContaining(SILENCE) }])
    expect(reasons[0]?.sinceMs).toBeGreaterThan(startedMs)
    expect(reasons[0]?.sinceMs).toBeLessThanOrEqual(failedMs)
    lane.refusal = undefined
    await lane.settle(lane.sender.ready())
    expect(lane.sender.health()).toEqual(WELL)
  })

  test('a closed sender is live, because a restart would not help, and not ready', async () => {
    const lane = await openLane()
    await lane[Symbol.asyncDispose]()
    expect(lane.sender.health()).toMatchObject({
      live: true,
      ready: false,
      reasons: [{ for: 'closed', sentence: 'The sender is closed.' }],
    })
  })
})

describe('the reasons', () => {
  test('a hold: its sentence, its time, and whether an operator has to end it', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const pausedMs = lane.clock.wallNow()
    await lane.clock.advance(5_000)
    const sentence = 'The lane reserves no nonces for now: it was paused, until resume().'
    const reason = {
      for: 'hold',
      hold: 'paused',
      sinceMs: pausedMs,
      sentence,
      operator: true,
      stops: 'ready',
    }
    expect(lane.sender.health()).toEqual({
      ...WELL,
      ready: false,
      reasons: [{ ...reason, address: ACCOUNT }],
    })
    lane.sender.resume()
    expect(lane.sender.health()).toEqual(WELL)
  })

  test('a silent only endpoint: not ready, live, with its time; ready again once it answers', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(transfer(1)))
    lane.refusal = (calls) => calls.map(() => TIMES_OUT)
    const silentMs = lane.clock.wallNow()
    await lane.until(() => !lane.sender.health().ready)
    const { live, inFlight, reasons } = lane.sender.health()
    expect({ live, inFlight }).toEqual({ live: true, inFlight: 1 })
    const silence = { for: 'endpoint', endpoint: 'sim', role: 'both', said: SILENCE, stops: 'ready' }
    expect(reasons).toMatchObject([{ ...silence, operator: false }])
    expect(reasons[0]?.sentence).toContain(SILENCE)
    const sinceMs = reasons[0]?.sinceMs ?? 0
    expect(sinceMs).toBeGreaterThanOrEqual(silentMs)
    await lane.clock.advance(20_000)
    expect(lane.sender.health().reasons[0]?.sinceMs).toBe(sinceMs)
    lane.refusal = undefined
    await lane.until(() => lane.sender.health().ready)
  })

  test('a full queue is not ready', async () => {
    await using lane = await openLane({ limits: { queueMax: 2 } })
    lane.sender.pause()
    await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    const full = () => lane.sender.health().reasons.filter((reason) => reason.for === 'queue')
    expect([lane.sender.health().queued, full()]).toEqual([1, []])
    await lane.settle(lane.sender.send(transfer(2), { until: 'queued' }))
    expect(full()).toMatchObject([{ queued: 2, stops: 'ready' }])
    lane.sender.resume()
    await lane.settle(lane.sender.drain())
    expect(lane.sender.health()).toEqual(WELL)
  })

  test('a store whose file was replaced is not live, because it needs a restart', async () => {
    await using lane = await openLane()
    lane.sender.on('error', () => {})
    const { TxlaneError } = await import('../../errors/base.js')
    const { renew } = lane.parameters.store as NonNullable<typeof lane.parameters.store>
    const replaced = () =>
      Promise.reject(
        new TxlaneError('The file was replaced.', { code: 'STORE', fate: 'inFlight', details: 'replaced' }),
      )
    Object.assign(lane.parameters.store as object, { renew: replaced })
    await lane.until(() => !lane.sender.health().live)
    const { ready, reasons } = lane.sender.health()
    expect(ready).toBe(false)
    expect(reasons.map((reason) => [reason.for, reason.stops])).toContainEqual(['hold', 'live'])
    Object.assign(lane.parameters.store as object, { renew })
    await lane.until(() => lane.sender.health().live)
    expect(lane.sender.health()).toEqual(WELL)
  })

  test('a store that does not answer is live and not ready', async () => {
    await using lane = await openLane()
    const { TxlaneError } = await import('../../errors/base.js')
    const { renew } = lane.parameters.store as NonNullable<typeof lane.parameters.store>
    const down = () =>
      Promise.reject(new TxlaneError('The database is down.', { code: 'STORE', fate: 'notExecuted' }))
    Object.assign(lane.parameters.store as object, { renew: down })
    await lane.until(() => !lane.sender.health().ready)
    expect(lane.sender.health()).toMatchObject({
      live: true,
      reasons: [{ for: 'store', said: 'The database is down.', stops: 'ready', operator: false }],
    })
    Object.assign(lane.parameters.store as object, { renew })
    await lane.until(() => lane.sender.health().ready)
  })
})

describe('if another process owns the lane', () => {
  test('reports the hold for which its transactions wait, as the leader stored it', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    lane.script = swallow(9)
    await lane.settle(leader.sender.send(transfer(9)))
    leader.sender.pause()
    await lane.settle(standby.sender.send(transfer(1), { until: 'queued' }))
    await lane.until(() => !standby.sender.health().ready)
    expect(standby.sender.health()).toMatchObject({
      live: true,
      queued: 1,
      reasons: [{ for: 'hold', hold: 'paused', operator: true, address: ACCOUNT }],
    })
    leader.sender.resume()
    await lane.until(() => standby.sender.health().ready)
  })

  test('a standby with a silent node reports it, stays ready, and its snapshot has the last known state', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    lane.script = swallow(1)
    await lane.settle(leader.sender.send(transfer(1)))
    leader.nodeIs(false)
    // The lane moves to the other process, whose node answers.
    await lane.until(() => leader.sender.health().reasons.some((reason) => reason.for === 'endpoint'))
    lane.script = undefined
    const tx = await lane.settle(leader.sender.send(transfer(2)))
    await lane.until(() => tx.stage === 'sealed')
    expect(await lane.settle(standby.sender.snapshot())).toMatchObject({ holder: true })
    const health = leader.sender.health()
    expect(health).toMatchObject({ ready: true, reasons: [{ for: 'endpoint', said: 'refused' }] })
    expect(health.reasons[0]).not.toHaveProperty('stops')
    const shown = await lane.settle(leader.sender.snapshot())
    expect(shown).toMatchObject({ holder: false, endpoints: [{ failing: { said: 'refused' } }] })
  })
})

describe('a pool', () => {
  async function openPool(lane: SimLane) {
    const make = (account: Parameters<typeof createSenderIn>[1]['account']) =>
      createMemberIn(lane.environment, { ...lane.parameters, account })
    const accounts = ['0xa1', '0xa2'].map((end) =>
      createStubAccount(`0x${'0'.repeat(38)}${end.slice(2)}`, { clock: lane.clock }),
    )
    const pool = createPool(accounts.map(make), { make })
    await lane.settle(pool.ready())
    return pool
  }
  const funded = ['a1', 'a2'].map((end) => ({
    address: `0x${'0'.repeat(38)}${end}` as const,
    nonce: 0,
    balanceWei: 10n ** 18n,
  }))

  test('is ready while one account is ready; each reason names its account', async () => {
    await using lane = await openLane({ others: funded })
    const pool = await openPool(lane)
    const [first, second] = pool.senders as [Sender, Sender]
    expect(pool.health()).toEqual(WELL)
    pool.pause(first.address)
    expect(pool.health()).toMatchObject({
      ready: true,
      reasons: [{ hold: 'paused', address: first.address, stops: 'ready' }],
    })
    pool.pause(second.address)
    expect(pool.health()).toMatchObject({ live: true, ready: false })
    pool.resume()
    await lane.settle(pool.close())
    expect(pool.health()).toMatchObject({ live: true, ready: false })
  })

  test('its counts are the sums over all its accounts', async () => {
    await using lane = await openLane({ others: funded })
    const pool = await openPool(lane)
    lane.script = onSend((tx) => ({ ok: true, result: tx.hash }))
    await lane.settle(Promise.all([1, 2, 3].map((marker) => pool.send(transfer(marker)))))
    expect(pool.health()).toMatchObject({ inFlight: 3, queued: 0 })
    expect(pool.inFlight()).toHaveLength(3)
    lane.script = undefined
    await lane.settle(pool.drain())
    expect(pool.health()).toEqual(WELL)
    await lane.settle(pool.close())
  })
})
