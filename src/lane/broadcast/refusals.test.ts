import { describe, expect, test } from 'vitest'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import {
  distinct,
  nameOf,
  onSend,
  openLane,
  refuses,
  type SimLane,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'

const WORDS = 'the stars are not right for 21000 gas'
const ODD = refuses(WORDS)
const NO_ANSWER = { kind: 'timeout', message: 'no answer in time' } as const

/** The times at which the transaction with this marker was sent, in milliseconds. */
function timesOf(lane: SimLane, marker: number, reply: RpcReply): number[] {
  const atMs: number[] = []
  lane.script = onSend((tx) => {
    if (nameOf(tx) !== marker) return undefined
    atMs.push(lane.clock.now())
    return reply
  })
  return atMs
}

describe('rows 15 and 20: a refusal with an unknown message', () => {
  test('replaces the nonce with a no-op after three refusals by the only endpoint, does not bump, and quotes the message in the error', async () => {
    await using lane = await openLane()
    timesOf(lane, 1, ODD)
    const startMs = lane.clock.now()
    const bad = lane.rejection(lane.sender.send(transfer(1)))
    const good = lane.sender.send(transfer(2))
    const error = await bad
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted', details: `sim said: ${WORDS}` })
    expect(error.shortMessage).toContain('refused it 3 times')
    await lane.settle((await lane.settle(good)).wait('sealed'))
    expect(lane.executed()).toEqual(['noop', 2])
    expect(new Set(lane.sent.filter((tx) => nameOf(tx) === 1).map(({ hash }) => hash)).size).toBe(1)
    expect(lane.clock.now() - startMs).toBeLessThan(20_000)
  })

  test('reports a nonce that a killed process had given up, after the next process lands the no-op', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const first = world.start()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? ODD : { ok: false, failure: NO_ANSWER }))
    const tx = await lane.settle(first.sender.send(transfer(1), { until: 'queued', id: 'given up' }))
    await lane.until(() => lane.sent.some((one) => one.hash !== lane.sent[0]?.hash), 60_000)
    first.freeze()
    lane.script = undefined
    const second = world.start()
    const same = await lane.settle(second.sender.get('given up') as Promise<typeof tx>)
    const error = await lane.rejection(same.wait('sealed'), 120_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(error.shortMessage).toBe('An earlier process gave its nonce up. A no-op took its place.')
    expect(lane.executed()).toEqual(['noop'])
  })

  test('counts refusals that come faster than blocks and time as one', async () => {
    await using lane = await openLane({ chain: { blockTimeMs: 200, flashblockMs: 100 } })
    const atMs = timesOf(lane, 1, ODD)
    await lane.rejection(lane.sender.send(transfer(1)))
    expect((atMs.at(-1) ?? 0) - (atMs[0] ?? 0)).toBeGreaterThanOrEqual(2_000)
    expect(atMs.length).toBeLessThan(12)
  })

  test('lands unchanged after two refusals', async () => {
    await using lane = await openLane()
    let answers = 0
    lane.script = onSend(() => (answers++ < 2 ? ODD : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
    expect(distinct(lane)).toBe(1)
  })

  const NO_REFUSALS: readonly (readonly [string, RpcReply])[] = [
    ['a timeout', { ok: false, failure: { kind: 'timeout', message: WORDS } }],
    ['a failed connection', { ok: false, failure: { kind: 'network', message: WORDS } }],
    ['a malformed answer', { ok: false, failure: { kind: 'malformed', message: WORDS } }],
    [
      'an HTTP error without a JSON-RPC error',
      { ok: false, failure: { kind: 'http', status: 403, message: WORDS } },
    ],
    ['a rate limit', refuses('over rate limit', -32016)],
    ['an internal error of the endpoint', refuses('internal error')],
    ['a backend without the newest block', refuses('header not found')],
    [
      'a backend without the state',
      refuses('missing trie node 0ab1 (path 0c) state 0x9f is not available, not found'),
    ],
    ['the internal error of JSON-RPC', refuses(WORDS, -32603)],
    ['a sync send that is not ready', refuses(WORDS, 5)],
    [
      'an opaque custom transport',
      { ok: false, failure: { kind: 'custom', message: WORDS, cause: undefined } },
    ],
  ]
  test.each(NO_REFUSALS)('does not count %s as a refusal, however often it is repeated', async (_, reply) => {
    await using lane = await openLane()
    lane.script = onSend(() => reply)
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.clock.advance(40_000)
    expect([tx.stage, lane.executed(), lane.sent.map(nameOf)]).toEqual(['signed', [], lane.sent.map(() => 1)])
    lane.script = undefined
    await lane.settle(tx.wait('sealed'))
  })
})

describe('a counted refusal counts only if every endpoint gives it', () => {
  const COUNTED = refuses('tx fee (2.00 ether) exceeds the configured cap (1.00 ether)')

  test.each([
    ['with an unknown message', ODD],
    ['by its node policy', COUNTED],
  ])('lands if one endpoint refuses %s for ever and another accepts after a while', async (_, reply) => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [refusing, away] = endpoints
    if (refusing) refusing.script = onSend(() => reply)
    if (away) away.script = onSend(() => refuses('txpool is full'))
    const tx = await lane.settle(sender.send(transfer(1), { until: 'queued' }))
    await lane.clock.advance(12_000)
    expect([tx.stage, lane.executed()]).toEqual(['signed', []])
    if (away) away.script = undefined
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })

  test('ends a transaction that two endpoints refuse with different messages, and the error quotes one of them', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    for (const [index, endpoint] of endpoints.entries())
      endpoint.script = onSend((tx) => (nameOf(tx) === 1 ? (index === 0 ? ODD : COUNTED) : undefined))
    const error = await lane.rejection(sender.send(transfer(1)))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(error.details).toMatch(/^e[01] said: /)
    expect(lane.executed()).toEqual(['noop'])
  })

  test('an endpoint that does not answer delays the decision of the other one only briefly', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [refusing, dead] = endpoints
    if (refusing) refusing.script = onSend((tx) => (nameOf(tx) === 1 ? ODD : undefined))
    if (dead) dead.state = 'refuses'
    await lane.rejection(sender.send(transfer(1)))
    expect(lane.executed()).toEqual(['noop'])
  })

  test('offers the same bytes three times after a counted refusal, but without a limit after an ordinary one', async () => {
    await using lane = await openLane()
    const counted = timesOf(lane, 1, COUNTED)
    const error = await lane.rejection(lane.sender.send(transfer(1)))
    expect(error.details).toContain('exceeds the configured cap')
    const { length } = counted
    await lane.clock.advance(20_000)
    expect(counted.length).toBe(length)

    const full = timesOf(lane, 2, refuses('txpool is full'))
    const tx = await lane.settle(lane.sender.send(transfer(2), { until: 'queued' }))
    await lane.clock.advance(20_000)
    expect([tx.stage, full.length > 3]).toEqual(['signed', true])
    lane.script = undefined
    await lane.settle(tx.wait('sealed'))
  })
})

describe('Hardhat: a transaction with too little gas does not block valid ones for long', () => {
  const NEVER_MS = 1_000_000_000
  const tooLittle = (gas: number) => refuses(`Transaction requires at least 21064 gas but got ${gas}`)

  /**
   * Behaves as Hardhat 2.29 was observed to: one block for each transaction, no other blocks, and no gaps.
   */
  async function openDefaultMode(): Promise<SimLane> {
    const lane = await openLane({ chain: { rules: 'latest', blockTimeMs: NEVER_MS } })
    lane.script = onSend((tx) => {
      const next = lane.chain.nextNonce(tx.from)
      const queued = "Note that transactions can't be queued when automining."
      if (nameOf(tx) === 1) return tooLittle(tx.gas)
      if (tx.nonce > next)
        return refuses(`Nonce too high. Expected nonce to be ${next} but got ${tx.nonce}. ${queued}`)
      if (tx.nonce < next)
        return refuses(`Nonce too low. Expected nonce to be ${next} but got ${tx.nonce}. ${queued}`)
      lane.chain.submit(tx.raw)
      lane.chain.seal()
      return { ok: true, result: tx.hash }
    })
    return lane
  }

  /** Makes a block each second, and pools transactions behind a gap. */
  async function openInterval(): Promise<SimLane> {
    const lane = await openLane({ chain: { rules: 'latest', blockTimeMs: 1_000 } })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? tooLittle(tx.gas) : undefined))
    return lane
  }

  test.each([
    ['in its default mode', openDefaultMode],
    ['with a block a second', openInterval],
  ])('replaces it by a no-op within seconds and lands the valid one, %s', async (_, open) => {
    await using lane = await open()
    const startMs = lane.clock.now()
    const bad = lane.rejection(lane.sender.send(transfer(1)))
    const good = lane.sender.send(transfer(2), { until: 'queued' })
    const tx = await lane.settle(good)
    const error = await bad
    expect(error.details).toBe('sim said: Transaction requires at least 21064 gas but got 21000')
    await lane.settle(tx.wait('sealed'), 10_000)
    expect(lane.clock.now() - startMs).toBeLessThan(10_000)
    expect(lane.executed()).toEqual(['noop', 2])
    lane.script = undefined
  })
})
