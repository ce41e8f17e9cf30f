import { describe, expect, test } from 'vitest'
import { quantity } from '../../../test/sim/port/wire.js'
import { openSeveral, type SimEndpoint } from '../../api/sender/severalEndpoints.fixture.js'
import { ACCOUNT, openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { TxRequest } from '../../types/index.js'

/** Counts that many more than there are, wherever it is asked; blocks and bodies are true. */
function ahead({ chain }: SimLane, by: number): (call: RpcCall) => RpcReply | undefined {
  return ({ method, params }) => {
    if (method !== 'eth_getTransactionCount') return undefined
    const [, selector] = params
    const hash = (selector as { blockHash?: string }).blockHash
    const number = hash
      ? chain.canonical.findIndex((block) => block.hash === hash)
      : selector === 'latest' || selector === 'pending'
        ? chain.head.number
        : Number(selector)
    const used = chain.canonical
      .slice(0, number + 1)
      .flatMap(({ executed }) => executed)
      .filter(({ tx }) => tx.from === ACCOUNT).length
    return { ok: true, result: quantity(used + by) }
  }
}

const asked = (endpoint: SimEndpoint | undefined) => endpoint?.calls.length ?? 0

describe('counts that are too high, with correct blocks', () => {
  // An idle lane reads the counts at every block and compares endpoints. A busy one first looks into bodies, once
  // they contain both transactions.
  const low = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const CASES: [string, readonly TxRequest[], string][] = [
    [
      'something that waits',
      [{ ...transfer(2), ...low } as TxRequest, transfer(3)],
      'the endpoint counts 8 used nonces, and the bodies of its blocks show 3',
    ],
    ['nothing to send', [], 'the endpoint counts 6 used nonces, and another endpoint counts 1'],
  ]
  test.each(CASES)(
    'with two endpoints and %s: the event names it doubtful with both numbers, another one is read, all lands once',
    async (_, requests, reason) => {
      await using several = await openSeveral(['both', 'both'])
      const { lane, sender, endpoints } = several
      const [first] = endpoints
      const sent = await lane.settle(sender.send(transfer(1)))
      await lane.settle(sent.wait('sealed'))
      if (first) first.script = ahead(lane, 5)
      const all = await lane.settle(Promise.all(requests.map((request) => sender.send(request))))
      await lane.until(() => several.changes().includes('e0 doubtful'), 60_000)
      await lane.settle(Promise.all(all.map((tx) => tx.wait('sealed'))), 60_000)
      await lane.until(() => several.changes().includes('e1 reader'), 10_000)
      const doubtful = several.events('endpoint').find(({ change }) => change === 'doubtful')
      expect(doubtful?.reason).toBe(reason)
      await lane.blocks(3)
      expect(lane.executed()).toEqual([1, 2, 3].slice(0, 1 + requests.length))
      expect(several.events('held')).toEqual([])
      expect(several.events('foreign')).toEqual([])
      expect(several.events('unresolved')).toEqual([])
    },
  )

  test('with one endpoint for a minute: requests stay few, a reason is shown, and nothing is executed twice', async () => {
    await using lane = await openLane({ limits: { evidencePatienceMs: 600_000 } })
    const sent = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(sent.wait('sealed'))
    lane.script = ahead(lane, 5)
    const before = lane.requests.length
    const all = await lane.settle(Promise.all([2, 3].map((marker) => lane.sender.send(transfer(marker)))))
    await lane.clock.advance(60_000)
    // A tick each 200 ms are 300; the looks, at each block at most, come on top of that.
    expect(lane.requests.length - before).toBeLessThanOrEqual(900)
    expect(lane.events('endpoint').map(({ change }) => change)).toContain('doubtful')
    lane.script = undefined
    await lane.settle(Promise.all(all.map((tx) => tx.wait('sealed'))))
    const next = await lane.settle(lane.sender.send(transfer(4)))
    await lane.settle(next.wait('sealed'), 10_000)
    expect(lane.executed()).toEqual([1, 2, 3, 4])
    expect((await lane.snapshot()).holds).toEqual([])
  })
})

describe('a count that is too low, with correct blocks', () => {
  test('with two endpoints: if both say "nonce too low", the one with the lower count is doubted, and the payment moves on', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [first] = endpoints
    await lane.settle(sender.send(transfer(1)).then((tx) => tx.wait('sealed')))
    const low = ahead(lane, -1)
    if (first) first.script = (call) => (call.params[1] === 'latest' ? low(call) : undefined)
    // An idle lane looks at nothing, and a wallet has used the key meanwhile.
    await lane.blocks(40)
    lane.foreign(1)
    await lane.blocks(40)
    const tx = await lane.settle(sender.send(transfer(2), { until: 'queued' }))
    await lane.settle(tx.wait('sealed'), 30_000)
    expect(several.changes()).toContain('e0 doubtful')
    expect(several.events('endpoint').find(({ change }) => change === 'doubtful')?.reason).toBe(
      'the endpoint counts 1 used nonces, and another endpoint counts 2',
    )
    expect(lane.executed()).toEqual([1, 'foreign', 2])
    expect(several.events('held')).toEqual([])
  })
})

const BLOCK_MS = 2_000

describe('a chain that was cut back below the tip', () => {
  test('is emitted as a reset once no endpoint shows the tip; its transactions land again, once', async () => {
    await using lane = await openLane({ lossDepth: 40, limits: { reorgHorizon: 64 } })
    await lane.blocks(4)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(10)
    const tip = (await lane.snapshot()).head?.number ?? 0
    lane.chain.rewind({ blocks: 12, keepsPool: false })
    const left = tip - lane.chain.head.number
    await lane.until(() => lane.events('endpoint').some(({ change }) => change === 'reset'), 30_000)
    const reset = lane.events('endpoint').find(({ change }) => change === 'reset')
    expect(reset?.reason).toMatch(
      new RegExp(
        `^the newest block is \\d+, and no endpoint shows block ${tip} any more: ${left} blocks left the chain$`,
      ),
    )
    expect(lane.events('reorged').length).toBeGreaterThan(0)
    expect(await lane.settle(tx.wait('sealed'))).toMatchObject({ nonce: 0 })
    await lane.until(() => lane.executed().includes(1))
    expect(lane.executed()).toEqual([1])
    expect((await lane.settle(lane.sender.snapshot())).head?.number).toBeLessThanOrEqual(
      lane.chain.head.number,
    )
  })

  test('holds a lane of settled payments for a minute: few requests, a reason, each lands again, and resume() goes on', async () => {
    const count = 20
    const markers = Array.from({ length: count }, (_, index) => index + 1)
    await using lane = await openLane({ lossDepth: 'child' })
    await lane.blocks(2)
    const all = await lane.settle(Promise.all(markers.map((marker) => lane.sender.send(transfer(marker)))))
    await lane.settle(Promise.all(all.map((tx) => tx.wait('sealed'))))
    await lane.blocks(6)
    lane.chain.rewind({ blocks: 9, keepsPool: false })
    await lane.until(() => lane.events('held').length > 0, 60_000)
    // Callers go on waiting, all through the hold.
    const waits = all.map((tx) => tx.wait('safe', { timeoutMs: 600_000 }).catch(() => undefined))
    const before = lane.requests.length
    const heldMs = 60_000
    await lane.clock.advance(heldMs)
    expect(lane.requests.length - before).toBeLessThan((6 * heldMs) / BLOCK_MS)
    // The same bytes land again meanwhile: nothing new is reserved before a person has looked.
    const next = await lane.settle(lane.sender.send(transfer(count + 1), { until: 'queued' }))
    const { holds } = await lane.settle(lane.sender.snapshot())
    expect(holds).toEqual(['deepReorg'])
    expect(next.waitingFor).toMatchObject({ for: 'hold', holds: ['deepReorg'], operator: true })
    expect(next.waitingFor?.sentence).toContain(
      'a block that counted as settled left the chain, until resume()',
    )
    expect(lane.executed().toSorted()).toEqual(markers.toSorted())
    expect(new Set(lane.events('deepReorg').map(({ nonce }) => nonce)).size).toBe(count)
    lane.sender.resume()
    await lane.settle(next.wait('sealed'), 60_000)
    expect(lane.executed().toSorted()).toEqual([...markers, count + 1].toSorted())
    await lane.settle(Promise.all(waits), 600_000)
  })

  test('is not emitted while another endpoint shows the tip: the reader only lags', async () => {
    await using several = await openSeveral(['both', 'read'])
    const { lane, sender, endpoints } = several
    const tx = await lane.settle(sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(4)
    const [reader] = endpoints
    if (reader) reader.lagMs = 12_000
    const before = asked(reader)
    void sender.send(transfer(2), { until: 'queued' }).catch(() => {})
    await lane.clock.advance(20_000)
    expect(asked(reader)).toBeGreaterThan(before)
    expect(several.changes()).not.toContain('e0 reset')
    expect(several.events('reorged')).toEqual([])
  })
})
