import { type Hash, type Hex, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { call, type RpcReply } from '../../../src/rpc/port.js'
import { probeSendSync, SEND_SYNC } from '../../../src/rpc/sendSync.js'
import { createChain } from '../chain/chain.js'
import type { ChainRules } from '../chain/options.js'
import { accountIn } from '../chain/state.js'
import { programRequest } from '../program.js'
import { createRandom } from '../random.js'
import { NO_SYNC_FAULTS, type SyncFaults, type SyncPlan } from '../socketPlan.js'
import { createStubAccount } from '../stubAccount.js'
import { createVirtualClock } from '../virtualClock.js'
import { answer } from './answer.js'
import { createSimPort, type SimPortOptions } from './simPort.js'
import { createSyncSends, type SyncEvent } from './syncSends.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'
const LATENCY_MS = 10

function setUp(
  faults: Partial<SyncFaults> = {},
  options: Partial<SimPortOptions> & { rules?: ChainRules; form?: SyncPlan['form'] } = {},
) {
  const clock = createVirtualClock()
  const random = createRandom(5)
  const { rules = 'geth', form = 'node', ...portOptions } = options
  const accounts = [{ address: ADDRESS, balanceWei: 10n ** 18n }] as const
  const chain = createChain({ clock, random, accounts, rules, blockTimeMs: 2_000 })
  const events: SyncEvent[] = []
  const syncSends = createSyncSends({
    clock,
    random,
    rules,
    form,
    faults: { ...NO_SYNC_FAULTS, ...faults },
    receiptOf(hash) {
      const reply = answer(chain, chain.view(), { method: 'eth_getTransactionReceipt', params: [hash] })
      return reply.ok ? reply.result : null
    },
    nextNonce: (from) => chain.pool.nextNonce(from, accountIn(chain.head.state, from).nonce),
    count: (event) => void events.push(event),
  })
  chain.watch(syncSends.shown)
  const latencyMs = { min: LATENCY_MS, max: LATENCY_MS }
  const port = createSimPort(chain, { clock, random, syncSends, latencyMs, ...portOptions })
  const sign = (nonce: number): Promise<Hex> =>
    createStubAccount(ADDRESS).signTransaction({
      chainId: 8453,
      type: 'eip1559',
      nonce,
      gas: 100_000n,
      maxFeePerGas: 10n ** 9n,
      maxPriorityFeePerGas: 10n ** 9n,
      ...programRequest({ kind: 'call', marker: 1 }),
    })
  /** The answer, and the milliseconds until it came. */
  async function send(raw: Hex, waitMs: number | undefined, timeoutMs = 60_000) {
    const beganMs = clock.now()
    let answered: { reply: RpcReply; afterMs: number } | undefined
    const params = waitMs === undefined ? [raw] : [raw, waitMs]
    const asked = call(port, SEND_SYNC, params, { timeoutMs }).then((reply) => {
      answered = { reply, afterMs: clock.now() - beganMs }
    })
    return { asked, answered: () => answered }
  }
  async function sent(raw: Hex, waitMs: number | undefined, blockAfterMs: number, timeoutMs?: number) {
    const { answered } = await send(raw, waitMs, timeoutMs)
    await clock.advance(blockAfterMs)
    chain.stepFlashblock()
    chain.seal()
    await clock.advance(70_000)
    return answered()
  }
  return { clock, chain, port, events, sign, sent }
}

describe('a sync send to a simulated endpoint', () => {
  test('is answered with the receipt, as soon as there is one', async () => {
    const world = setUp()
    const raw = await world.sign(0)
    const answered = await world.sent(raw, 5_000, 500)
    expect(answered?.reply).toMatchObject({
      ok: true,
      result: { transactionHash: keccak256(raw), status: '0x1' },
    })
    expect(answered?.afterMs).toBe(500 + LATENCY_MS)
    expect(world.events).toEqual(['sync send', 'sync receipt'])
  })

  test.each([
    ['geth', 'node', keccak256],
    ['reth', 'node', () => undefined],
    ['base', 'node', () => undefined],
    ['geth', 'eip7966', keccak256],
  ] as const)(
    'of %s in the form %s ends in code 4 at its timeout, with the hash or without',
    async (rules, form, dataOf) => {
      const world = setUp({}, { rules, form })
      const raw = await world.sign(0)
      const answered = await world.sent(raw, 400, 500)
      const failure = answered?.reply.ok === false && answered.reply.failure
      expect(failure).toMatchObject({ kind: 'rpc', code: 4 })
      expect((failure as { data?: Hash }).data).toBe(dataOf(raw))
      expect(answered?.afterMs).toBe(400 + 2 * LATENCY_MS)
      expect(world.events).toEqual(['sync send', 'sync timeout'])
      expect(world.chain.nextNonce(ADDRESS)).toBe(1)
    },
  )

  test('is refused in the words of a plain send, and above a gap with code 6 as EIP-7966 allows', async () => {
    const world = setUp()
    const raw = await world.sign(0)
    await world.sent(raw, 1_000, 10)
    expect(await world.sent(raw, 1_000, 10)).toMatchObject({ reply: { failure: { code: -32000 } } })
    expect(world.events).toContain('sync refusal')
    const eip = setUp({}, { form: 'eip7966' })
    const gapped = await eip.sent(await eip.sign(3), 1_000, 10)
    expect(gapped).toMatchObject({ reply: { failure: { code: 6, data: '0x0' } } })
    expect(eip.chain.pool.size).toBe(0)
  })

  test('of bytes that wait in the pool is answered with "already known"', async () => {
    const world = setUp()
    const raw = await world.sign(0)
    world.chain.submit(raw)
    const answered = await world.sent(raw, 1_000, 10)
    expect(answered).toMatchObject({ reply: { failure: { message: 'already known' } } })
    expect(world.events).toContain('sync already known')
  })

  test.each([
    ['node', true],
    ['eip7966', true],
    ['anvil', 'withoutTimeout'],
  ] as const)('in the form %s is found by the probe: %s', async (form, found) => {
    const { clock, port, events } = setUp({ unusable: 1, cut: 1 }, { form })
    const probed = probeSendSync(port, 1_000)
    await clock.advance(1_000)
    expect(await probed).toBe(found)
    expect(events).toEqual([])
  })

  test('may be refused after the probe, cut while it waits, or answered late', async () => {
    const unusable = setUp({ unusable: 1 })
    const refused = await unusable.sent(await unusable.sign(0), 1_000, 10)
    expect(refused?.reply.ok).toBe(false)
    const cut = setUp({ cut: 1 })
    expect(await cut.sent(await cut.sign(0), 5_000, 6_000)).toMatchObject({
      reply: { failure: { kind: 'network' } },
    })
    expect(cut.chain.nextNonce(ADDRESS)).toBe(1)
    const late = setUp({ late: 1 })
    const answered = await late.sent(await late.sign(0), 5_000, 10)
    expect(answered?.reply.ok).toBe(true)
    expect(answered?.afterMs).toBeGreaterThan(500)
  })

  test('that the pool dropped ends in code 4, which says that it was added', async () => {
    const { NO_FAULTS } = await import('./faults.js')
    const world = setUp({}, { faults: { ...NO_FAULTS, neverPooled: 1 } })
    const answered = await world.sent(await world.sign(0), 400, 100)
    expect(answered).toMatchObject({ reply: { failure: { code: 4 } } })
    expect(world.chain.nextNonce(ADDRESS)).toBe(0)
  })
})
