import { describe, expect, test } from 'vitest'
import {
  distinct,
  hashes,
  nameOf,
  onSend,
  openLane,
  outbids,
  refuses,
  TIMES_OUT,
  transfer,
  UNDERPRICED,
} from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'

const INTRINSIC = refuses('invalid transaction v, r, s values')

describe("section 5: an endpoint's reply to a send, by name", () => {
  const ACCEPTED = [
    ['already known', refuses('already known')],
    ['already imported', refuses('transaction already imported')],
    ['a sync send that timed out, code 4', refuses('the transaction was added to the mempool', 4)],
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
    ['an unknown message', refuses('the stars are not right')],
    ['code 5 of a sync send', refuses('not ready', 5)],
  ]
  test.each(UNKNOWN)('row 13, P2, unknown is no rejection: %s', async (_, reply) => {
    await using lane = await openLane()
    // The bytes arrived all the same, which is the worst case of an unknown result.
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
    [
      'wrong chain id: the node is on another chain',
      refuses('invalid chain id for signer: have 1 want 8453'),
    ],
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
  test.each(REFUSED)('row 18, refused for now: offers the same bytes after a pause: %s', async (_, reply) => {
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
    ['signature', 'invalid transaction v, r, s values'],
    ['nonce', 'nonce has max value'],
    ['tip above the fee cap', 'maxPriorityFeePerGas (2) is bigger than maxFeePerGas (1)'],
  ]
  test.each(NEVER)('row 14, intrinsic: %s', async (_, message) => {
    await using lane = await openLane()
    lane.script = onSend(() => refuses(message))
    const error = await lane.rejection(lane.sender.send(transfer(1), { id: 'a' }))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted', tx: { id: 'a', stage: 'failed' } })
    expect(lane.sent).toHaveLength(1)
  })

  const COUNTED: readonly (readonly [string, string])[] = [
    ['too little gas for the bytes', 'intrinsic gas too low'],
    ['gas below the floor', 'insufficient gas for floor data gas cost: gas 21000, minimum needed 30000'],
    ["more bytes than the node's pool takes", 'oversized data: transaction size 131189, limit 131072'],
    ['a sender that the node cannot recover', 'invalid sender'],
    ["gas above the block's limit", 'exceeds block gas limit'],
    ['gas above the per-transaction limit', 'transaction gas limit too high (cap: 16777216, tx: 20000000)'],
    ["the node's fee cap", 'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)'],
  ]
  test.each(COUNTED)(
    'rows 15 and 20, counted: a no-op takes the nonce after three times %s',
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
  test.each(FEES)('row 16, the fee is too low: bumps both fees at once: %s', async (message) => {
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
  test('row 14: outbids permanently refused bytes only as far as the next transaction may pay', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    const dear = { ...transfer(1), maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 8n } as never
    await lane.rejection(lane.sender.send(dear))
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(await lane.settle(next.wait('sealed'))).toMatchObject({ nonce: 0 })
  })

  test('row 3, P3: lowers the cursor with nothing bound above', async () => {
    await using lane = await openLane()
    lane.script = onSend((tx) => (nameOf(tx) === 1 ? INTRINSIC : undefined))
    await lane.rejection(lane.sender.send(transfer(1)))
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 0, holes: [] })
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(next.nonce).toBe(0)
    await lane.settle(next.wait())
    expect(lane.executed()).toEqual([2])
  })

  test('row 1, P3: the next transaction takes the lowest hole, without a no-op', async () => {
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

  test('row 2, P3: a no-op fills the gap without a waiting transaction, not before gapFillAfterMs', async () => {
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

  test('row 2, P3: a slowly signed no-op that is requested again does not delay the others', async () => {
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
    // The end is announced only once the no-op has landed in place of the bytes.
    expect(lane.executed()).toEqual(['noop', 2])
    expect((await second).nonce).toBe(1)
  })
})

describe('row 17: another transaction occupies the nonce in the pool', () => {
  test('emits displaced once, bumps and voids nothing, and reports the transaction as stuck after a while', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => UNDERPRICED)
    const pending = lane.sender.send(transfer(1), { id: 'a', until: 'queued' })
    await lane.settle(pending)
    await lane.blocks(8)
    expect(lane.events('displaced')).toEqual([expect.objectContaining({ nonce: 0 })])
    expect(lane.events('stuck').length).toBeGreaterThan(0)
    expect(distinct(lane)).toBe(1)
  })

  test('speedUp outbids the occupying transaction', async () => {
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
})
