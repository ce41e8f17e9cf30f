import { describe, expect, test } from 'vitest'
import type { SimTransaction } from '../../../test/sim/transaction.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Tx, TxRequest } from '../../types.js'
import {
  nameOf,
  onSend,
  openLane,
  refuses,
  type SimLane,
  swallows,
  TIMES_OUT,
  transfer,
} from '../simLane.fixture.js'

const UNDERPRICED = refuses('replacement transaction underpriced')
const INTRINSIC = refuses('intrinsic gas too low: gas 21000, minimum needed 21064')
const TOO_MUCH_GAS = refuses('exceeds block gas limit')

const hashes = (lane: SimLane) => lane.sent.map(({ hash }) => hash)
const distinct = (lane: SimLane) => new Set(hashes(lane)).size

/** Whether a pool would take `next` in place of `old`. */
function outbids(next: SimTransaction | undefined, old: SimTransaction | undefined): boolean {
  if (next === undefined || old === undefined) return false
  return next.maxFeeWei * 100n >= old.maxFeeWei * 110n && next.tipWei * 100n >= old.tipWei * 110n
}

describe('section 5: what an endpoint says of a send, by name', () => {
  const ACCEPTED = [
    ['already known', refuses('already known')],
    ['already imported', refuses('transaction already imported')],
    ['a sync send that gave up waiting, code 4', refuses('the transaction was added to the mempool', 4)],
  ] as const
  test.each(ACCEPTED)('row 13, accepted: %s', async (_, reply) => {
    await using lane = await openLane()
    lane.script = onSend((tx) => {
      lane.chain.submit(tx.raw)
      return reply
    })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(tx.stage).toBe('accepted')
    await lane.settle(tx.wait('sealed'))
    expect(distinct(lane)).toBe(1)
  })

  const UNKNOWN: readonly (readonly [string, RpcReply])[] = [
    ['a timeout', TIMES_OUT],
    ['a reset connection', { ok: false, failure: { kind: 'network', message: 'socket hang up' } }],
    ['HTTP 503', { ok: false, failure: { kind: 'http', status: 503, message: 'Service Unavailable' } }],
    ['broken JSON', { ok: false, failure: { kind: 'malformed', message: 'the body is not JSON' } }],
    ['a hash that is not ours', { ok: true, result: `0x${'12'.repeat(32)}` }],
    ['a message that nobody knows', refuses('the stars are not right')],
    ['code 5 of a sync send', refuses('not ready', 5)],
  ]
  test.each(UNKNOWN)('row 13, P2, unknown is no rejection: %s', async (_, reply) => {
    await using lane = await openLane()
    // The bytes arrived all the same: the worst that unknown can mean.
    let answers = 0
    lane.script = onSend((tx) => {
      if (answers++ > 0) return undefined
      lane.chain.submit(tx.raw)
      return reply
    })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(distinct(lane)).toBe(1)
    expect(lane.executed()).toEqual([1])
  })

  const REFUSED: readonly (readonly [string, RpcReply])[] = [
    ['nonce too low', refuses('nonce too low: next nonce 0, tx nonce 0')],
    ['nonce too high', refuses('nonce too high')],
    ['nonce gap, code 6', refuses('nonce gap', 6)],
    ['insufficient funds', refuses('insufficient funds for gas * price + value: balance 1, tx cost 2')],
    ['wrong chain id: the node strayed', refuses('invalid chain id for signer: have 1 want 8453')],
    ['pool full', refuses('txpool is full')],
    ['account limit', refuses('account limit exceeded: pooled 16 txs')],
    ['delegated-account limit', refuses('in-flight transaction limit reached for delegated accounts')],
    ['address reserved', refuses('address already reserved')],
    ['rate limit, -32005', refuses('limit exceeded', -32005)],
    ['rate limit, -32016', refuses('over rate limit', -32016)],
    [
      'HTTP 429',
      { ok: false, failure: { kind: 'http', status: 429, message: 'Too Many Requests', retryAfterMs: 700 } },
    ],
  ]
  test.each(REFUSED)('row 18, refused for now, the same bytes after a pause: %s', async (_, reply) => {
    await using lane = await openLane()
    const atMs: number[] = []
    lane.script = onSend(() => (atMs.push(lane.clock.now()) <= 2 ? reply : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(distinct(lane)).toBe(1)
    expect(lane.executed()).toEqual([1])
    expect((atMs[1] ?? 0) - (atMs[0] ?? 0)).toBeGreaterThanOrEqual(100)
  })

  const NEVER: readonly (readonly [string, string])[] = [
    ['invalid signature', 'invalid sender'],
    ['intrinsic gas', 'intrinsic gas too low'],
    ['floor gas', 'insufficient gas for floor data gas cost: gas 21000, minimum needed 30000'],
    ['oversized', 'oversized data: transaction size 131073, limit 131072'],
  ]
  test.each(NEVER)('row 14, intrinsic: %s', async (_, message) => {
    await using lane = await openLane()
    lane.script = onSend(() => refuses(message))
    const error = await lane.rejection(lane.sender.send(transfer(1), { id: 'a' }))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted', tx: { id: 'a', stage: 'failed' } })
    expect(lane.sent).toHaveLength(1)
  })

  const COUNTED: readonly (readonly [string, string])[] = [
    ["gas above the block's limit", 'exceeds block gas limit'],
    ['gas above the per-transaction limit', 'transaction gas limit too high (cap: 16777216, tx: 20000000)'],
    ["the node's fee cap", 'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)'],
  ]
  test.each(COUNTED)(
    'rows 15 and 20, counted: three times %s, and a no-op takes the nonce',
    async (_, message) => {
      await using lane = await openLane()
      lane.script = onSend((tx) => (nameOf(tx) === 1 ? refuses(message) : undefined))
      const error = await lane.rejection(lane.sender.send(transfer(1)))
      expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
      expect(lane.sent.filter((tx) => nameOf(tx) === 1).length).toBeGreaterThanOrEqual(3)
      expect(lane.executed()).toEqual(['noop'])
      expect(lane.events('failed')).toHaveLength(1)
    },
  )

  const FEES = [
    'max fee per gas less than block base fee: address 0xaa',
    'transaction underpriced: gas tip cap 1',
  ]
  test.each(FEES)('row 16, the fee is too low: bumped at once, both fees: %s', async (message) => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (tx.hash === lane.sent[0]?.hash ? refuses(message) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)), 1_000)
    expect(outbids(lane.sent[1], lane.sent[0])).toBe(true)
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([0, 0])
    expect(tx.attempts.map(({ hash }) => hash)).toEqual(hashes(lane))
    await lane.settle(tx.wait('sealed'))
  })
})

describe('rows 2, 3, 14: a nonce that came free', () => {
  test('row 14: what was refused for good there is not outbid beyond what the next one may pay', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    const dear = { ...transfer(1), maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 8n } as never
    await lane.rejection(lane.sender.send(dear))
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(await lane.settle(next.wait('sealed'))).toMatchObject({ nonce: 0 })
  })

  test('row 3, P3: with nothing bound above, the cursor comes down', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    await lane.rejection(lane.sender.send(transfer(1)))
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 0, holes: [] })
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(next.nonce).toBe(0)
    await lane.settle(next.wait())
    expect(lane.executed()).toEqual([2])
  })

  test('row 1, P3: the next transaction takes the lowest hole, with no no-op', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    const first = lane.rejection(lane.sender.send(transfer(1)))
    const second = lane.sender.send(transfer(2))
    await first
    const third = await lane.settle(lane.sender.send(transfer(3)))
    expect(third.nonce).toBe(0)
    await lane.settle((await second).wait())
    expect(lane.executed()).toEqual([3, 2])
  })

  test('row 2, P3: with none waiting a no-op fills the gap, not before gapFillAfterMs', async () => {
    await using lane = await openLane({ limits: { gapFillAfterMs: 3_000 } })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    const second = lane.sender.send(transfer(2))
    const first = lane.sender.send(transfer(1), { priority: 1 })
    await lane.rejection(first)
    await lane.clock.advance(2_500)
    expect(lane.sent.map(nameOf)).not.toContain('noop')
    await lane.settle(lane.settle(second).then((tx) => tx.wait()))
    expect(lane.executed()).toEqual(['noop', 2])
    await lane.blocks(2)
    expect(lane.events('gapFilled')).toHaveLength(1)
  })

  test('row 2, P3: a no-op that is slow to sign and asked for again leaves the others their turn', async () => {
    let signMs = 0
    await using lane = await openLane({ limits: { fillsMax: 1 }, signMs: () => signMs })
    lane.script = onSend((tx) => ([1, 3].includes(Number(nameOf(tx))) ? INTRINSIC : undefined))
    for (const [first, next, ms] of [
      [1, 2, 20_000],
      [3, 4, 0],
    ] as const) {
      const stays = lane.sender.send(transfer(next))
      await lane.rejection(lane.sender.send(transfer(first), { priority: 1 }))
      signMs = ms
      await lane.settle(lane.settle(stays).then((tx) => tx.wait()))
    }
    expect(lane.executed()).toEqual(['noop', 2, 'noop', 4])
  })

  test('row 15, P2: intrinsic frees nothing once the bytes were sent twice', async () => {
    await using lane = await openLane()
    let answers = 0
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? (answers++ === 0 ? TIMES_OUT : INTRINSIC) : undefined))
    const pending = lane.rejection(lane.sender.send(transfer(1)))
    const second = lane.sender.send(transfer(2))
    const error = await pending
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    // Told only once the no-op stands where the bytes could have.
    expect(lane.executed()).toEqual(['noop', 2])
    expect((await second).nonce).toBe(1)
  })
})

describe('row 17: somebody else holds the nonce in the pool', () => {
  test('displaced is told once; nothing is bumped or voided, and after a while the transaction is stuck', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => UNDERPRICED)
    const pending = lane.sender.send(transfer(1), { id: 'a', until: 'queued' })
    await lane.settle(pending)
    await lane.blocks(8)
    expect(lane.events('displaced')).toEqual([expect.objectContaining({ nonce: 0 })])
    expect(lane.events('stuck').length).toBeGreaterThan(0)
    expect(distinct(lane)).toBe(1)
  })

  test('speedUp outbids what sits there', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => UNDERPRICED)
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.until(() => lane.events('displaced').length === 1)
    const displaced = lane.sent[0]?.hash
    await lane.settle(tx.speedUp())
    lane.script = onSend((sent) => (sent.hash === displaced ? UNDERPRICED : undefined))
    await lane.settle(tx.wait('sealed'))
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
    expect(lane.executed()).toEqual([1])
  })

  test('speedUp takes the fees it is given, and refuses those that no pool takes', async () => {
    await using lane = await openLane()
    lane.script = onSend(swallows)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const [first] = tx.attempts
    const low = await lane.rejection(tx.speedUp({ maxFeePerGas: (first?.fees.maxFeePerGas ?? 0n) + 1n }))
    expect(low).toMatchObject({ code: 'INVALID' })
    expect(low.message).toContain('fees.maxFeePerGas')
    lane.script = undefined
    await lane.settle(tx.speedUp({ maxFeePerGas: 9_000_000n, maxPriorityFeePerGas: 900_000n }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 900_000n })
  })
})

describe('rows 19 and 20: accepted, and never seen', () => {
  test('row 19: the newest is resent, the next time bumped by at least a tenth on both fees', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (tx.hash === lane.sent[0]?.hash ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    const names = hashes(lane)
    expect(names[1]).toBe(names[0])
    expect(names.at(-1)).not.toBe(names[0])
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
    expect(lane.executed()).toEqual([1])
  })

  test('row 19: words that nobody understands, in every block, do not keep the bump away', async () => {
    await using lane = await openLane()
    // What a custom transport rejects with counts as unknown, whatever it says.
    const odd: RpcReply = { ok: false, failure: { kind: 'custom', message: 'tip too low', cause: undefined } }
    lane.script = onSend((tx) => (tx.hash === lane.sent[0]?.hash ? odd : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
    await lane.settle(tx.wait('sealed'))
  })

  test('row 19: while the endpoint takes nothing, the same bytes are offered and no fee is raised', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => TIMES_OUT)
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.clock.advance(60_000)
    expect(distinct(lane)).toBe(1)
    // At most once a sealed block, and three times by time at first.
    expect(lane.sent.length).toBeLessThanOrEqual(lane.chain.head.number + 4)
    lane.script = undefined
    await lane.settle(tx.wait('sealed'))
  })

  test('row 19, P8: while the signer is away the bytes that there are go on being sent', async () => {
    let away = false
    await using lane = await openLane({ fails: () => away })
    lane.script = onSend((tx) => (lane.sent.length <= 3 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    away = true
    await lane.settle(tx.wait('sealed'))
    expect(distinct(lane)).toBe(1)
    expect(lane.events('error').length).toBeGreaterThan(0)
  })

  test('rows 17 and 19, P8: an underbid whose larger step passes the ceiling offers the ceiling', async () => {
    await using lane = await openLane()
    const [first] = (await lane.settle(lane.sender.send(transfer(1)))).attempts
    // One step and a half above the bump: an underbid asks for two.
    const feeCeiling = ((first?.fees.maxFeePerGas ?? 0n) * 111n * 115n) / 10_000n
    const { length } = lane.sent
    const known = new Set<string>()
    lane.script = onSend((tx) => {
      known.add(tx.hash)
      if (known.size === 1) return swallows(tx)
      return known.size === 2 ? UNDERPRICED : undefined
    })
    const tx = await lane.settle(lane.sender.send(transfer(2), { feeCeiling }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.slice(length).at(-1)?.maxFeeWei).toBe(feeCeiling)
  })

  test('row 19: the base fee passed what is offered: bumped without the wait for a mystery', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    lane.chain.spikeBaseFee(40_000_000n, 20)
    await lane.settle(tx.wait('sealed'))
    expect(tx.attempts.length).toBeLessThanOrEqual(3)
    expect(lane.executed()).toEqual([1])
  })

  // Above the lane's ceiling: its first estimate is of a base fee of 1,000,000 wei.
  const DEAR_WEI = 10n ** 9n
  const FEES = { maxFeePerGas: DEAR_WEI, maxPriorityFeePerGas: 1_000_000n }
  const dear = (marker: number) => ({ ...transfer(marker), ...FEES }) as TxRequest

  test("row 19, P3: what a pool strands is bumped out of it, also above the lane's ceiling", async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => {
      if (lane.sent.length > 1) return undefined
      lane.chain.submit(tx.raw)
      lane.chain.pool.strand(({ hash }) => hash === tx.hash)
      return undefined
    })
    const txs: Tx[] = []
    for (const marker of [1, 2, 3]) txs.push(await lane.settle(lane.sender.send(dear(marker))))
    for (const tx of txs) await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1, 2, 3])
    expect(txs.map(({ attempts }) => attempts.length)).toEqual([2, 1, 1])
    for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThan((DEAR_WEI * 112n) / 100n)
  })

  test("rows 19 and 20, P3, P9: above the lane's ceiling two bumps, and a no-op within two more", async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(dear(1)))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual(['noop'])
    expect(new Set(lane.sent.filter((one) => nameOf(one) === 1).map(({ hash }) => hash)).size).toBe(3)
    for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThan((DEAR_WEI * 153n) / 100n)
  })

  test('row 20: with a ceiling of its own that leaves no room it is voided, not bumped', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(dear(1), { feeCeiling: DEAR_WEI }))
    await lane.rejection(tx.wait('sealed'), 600_000)
    expect(lane.executed()).toEqual(['noop'])
    expect(new Set(lane.sent.filter((one) => nameOf(one) === 1).map(({ hash }) => hash)).size).toBe(1)
  })

  test("row 22: what replaces it need not name fees: it outbids above the lane's ceiling as well", async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(dear(1)))
    const next = await lane.settle(tx.replace(transfer(2)))
    await lane.settle(next.wait('sealed'))
    expect(lane.executed()).toEqual([2])
  })

  test('row 20, P5: at its ceiling the lane tells so, voids the nonce, and the transaction fails', async () => {
    await using lane = await openLane({ fees: { ceiling: { maxFeePerGas: 3_000_000n } } })
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(lane.events('feeCeiling')).toHaveLength(1)
    expect(lane.executed()).toEqual(['noop'])
    // Two steps below the lane's own ceiling, which are kept for no-ops.
    for (const sent of lane.sent) expect(sent.maxFeeWei).toBeLessThanOrEqual(3_000_000n)
    for (const sent of lane.sent.filter((one) => nameOf(one) === 1))
      expect(sent.maxFeeWei).toBeLessThan(2_450_000n)
  })

  test("a transaction's own feeCeiling stops its bumps earlier", async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? swallows(tx) : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1), { feeCeiling: 2_600_000n }))
    await lane.rejection(tx.wait('sealed'), 600_000)
    for (const sent of lane.sent.filter((one) => nameOf(one) === 1))
      expect(sent.maxFeeWei).toBeLessThanOrEqual(2_600_000n)
  })

  test('row 15: two counted refusals are not enough', async () => {
    await using lane = await openLane()
    let answers = 0
    lane.script = onSend(() => (answers++ < 2 ? TOO_MUCH_GAS : undefined))
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })
})
