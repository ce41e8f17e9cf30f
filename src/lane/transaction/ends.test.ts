import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import {
  onSend,
  openLane,
  type SimLane,
  swallow,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import { memoryStore } from '../../store/memory.js'
import type { Store } from '../../types/store.js'

const queue = (lane: SimLane, marker: number, options: object = {}) =>
  lane.settle(lane.sender.send(transfer(marker), { until: 'queued', ...options }))
const inMs = (lane: SimLane, ms: number) => ({ atMs: lane.clock.wallNow() + ms })

describe('expires', () => {
  test('not journaled: removes it at its deadline with EXPIRED, notExecuted', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const tx = await queue(lane, 1, { expires: inMs(lane, 5_000) })
    await lane.clock.advance(4_900)
    expect(tx.stage).toBe('queued')
    expect(await lane.rejection(tx.wait(), 200)).toMatchObject({ code: 'EXPIRED', fate: 'notExecuted' })
    lane.sender.resume()
    await lane.blocks(1)
    expect(lane.sent).toEqual([])
  })

  test('sends nothing if it expired before it was submitted', async () => {
    await using lane = await openLane()
    const error = await lane.rejection(lane.sender.send(transfer(1), { expires: inMs(lane, -1) }))
    expect(error).toMatchObject({ code: 'EXPIRED', fate: 'notExecuted' })
    expect(lane.sent).toEqual([])
  })

  test('P2, journaled: rejects the pending send with inFlight, id, nonce and hash, and continues the transaction', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => TIMES_OUT)
    const error = await lane.rejection(lane.sender.send(transfer(1), { id: 'a', expires: inMs(lane, 3_000) }))
    const [sent] = lane.sent
    expect(error).toMatchObject({
      code: 'EXPIRED',
      fate: 'inFlight',
      tx: { id: 'a', nonce: 0, hash: sent?.hash },
    })
    lane.script = undefined
    const tx = await lane.settle(lane.sender.get('a'))
    expect(await lane.settle(tx?.wait() ?? Promise.reject())).toMatchObject({ status: 'success' })
  })

  test("onExpiry: 'cancel' requests row 21", async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const options = { expires: inMs(lane, 3_000), onExpiry: 'cancel' as const }
    const tx = await lane.settle(lane.sender.send(transfer(1), options))
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'CANCELLED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual(['noop'])
  })

  test('does not re-send a transaction that loses its nonce to another sender after its deadline: EXPIRED, notExecuted', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1), { expires: inMs(lane, 3_000) }))
    await lane.clock.advance(3_000)
    const sent = lane.sent.length
    lane.foreign()
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'EXPIRED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual(['foreign'])
    expect(lane.sent.slice(sent).map(({ nonce }) => nonce)).not.toContain(1)
  })

  test('does not expire a landed transaction', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(
      lane.sender.send(transfer(1), { expires: inMs(lane, 60_000), onExpiry: 'cancel' }),
    )
    await lane.settle(tx.wait())
    await lane.clock.advance(90_000)
    expect(lane.sent).toHaveLength(1)
    expect(tx.stage).toBe('finalized')
  })
})

describe('abort', () => {
  test('aborted before the send: ABORTED, notExecuted, without a request to the node', async () => {
    await using lane = await openLane()
    const before = lane.requests.length
    const error = await lane.rejection(lane.sender.send(transfer(1), { signal: AbortSignal.abort() }))
    expect(error).toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
    expect(
      lane.requests
        .slice(before)
        .flat()
        .filter(({ method }) => method.includes('Gas')),
    ).toEqual([])
  })

  test('queued: removes it, and its id is free for the same request', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const controller = new AbortController()
    const pending = lane.rejection(lane.sender.send(transfer(1), { signal: controller.signal }))
    await lane.clock.advance(100)
    controller.abort()
    expect(await pending).toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
    expect(await lane.snapshot()).toMatchObject({ queued: 0, cursor: 0 })
  })

  test('P2, journaled: rejects the pending send with inFlight, and the transaction lands all the same', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => TIMES_OUT)
    const controller = new AbortController()
    const pending = lane.rejection(lane.sender.send(transfer(1), { id: 'a', signal: controller.signal }))
    await lane.clock.advance(1_000)
    controller.abort(new Error('enough'))
    expect(await pending).toMatchObject({ code: 'ABORTED', fate: 'inFlight', tx: { id: 'a', nonce: 0 } })
    lane.script = undefined
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1])
  })
})

describe('wait', () => {
  test('resolves at each stage in turn, and at once for a reached stage', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const preconfirmed = await lane.settle(tx.wait('preconfirmed'), 500)
    expect(preconfirmed).toMatchObject({
      stage: 'preconfirmed',
      nonce: 0,
      hash: tx.hash,
      receipt: { blockHash: null },
    })
    expect(await lane.settle(tx.wait())).toMatchObject({ stage: 'sealed', status: 'success' })
    expect(await lane.settle(tx.wait('safe'))).toMatchObject({ stage: 'safe' })
    expect(await lane.settle(tx.wait('finalized'))).toMatchObject({ stage: 'finalized' })
    expect(await lane.settle(tx.wait('preconfirmed'), 100)).toMatchObject({ stage: 'finalized' })
  })

  test('without pre-confirmations, preconfirmed resolves at sealed', async () => {
    await using lane = await openLane({ chain: { rules: 'geth' } })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(await lane.settle(tx.wait('preconfirmed'))).toMatchObject({ stage: 'sealed', status: 'success' })
    expect(lane.events('preconfirmed')).toEqual([])
  })

  test('timeoutMs: rejects with WAIT_TIMEOUT and the fate, and the transaction continues', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const startMs = lane.clock.now()
    const error = await lane.rejection(tx.wait('sealed', { timeoutMs: 700 }))
    expect(error).toMatchObject({ code: 'WAIT_TIMEOUT', fate: 'inFlight' })
    expect(lane.clock.now() - startMs).toBe(700)
    lane.script = undefined
    await lane.settle(tx.wait())
    const late = await lane.rejection(tx.wait('finalized', { timeoutMs: 10 }))
    expect(late).toMatchObject({ code: 'WAIT_TIMEOUT', fate: 'executed' })
  })

  test('signal: rejects with ABORTED and the fate, and the transaction continues', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const controller = new AbortController()
    const pending = lane.rejection(tx.wait('sealed', { signal: controller.signal }))
    controller.abort()
    expect(await pending).toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
    lane.script = undefined
    await lane.settle(tx.wait())
  })

  test.each(['safe', 'finalized'] as const)(
    'rejects with UNSUPPORTED if the endpoint lacks the %s tag',
    async (tag) => {
      await using lane = await openLane()
      lane.script = ({ method, params }) =>
        method === 'eth_getBlockByNumber' && params[0] === tag
          ? { ok: false, failure: { kind: 'rpc', code: -39001, message: `${tag} block not found` } }
          : undefined
      const tx = await lane.settle(lane.sender.send(transfer(1)))
      await lane.settle(tx.wait())
      expect(await lane.rejection(tx.wait(tag))).toMatchObject({ code: 'UNSUPPORTED' })
    },
  )

  test('answers a hundred waiting callers with one request for the receipt', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const all = await lane.settle(Promise.all(Array.from({ length: 100 }, () => tx.wait())))
    expect(new Set(all.map(({ hash }) => hash)).size).toBe(1)
    const asked = lane.requests.flat().filter(({ method }) => method === 'eth_getTransactionReceipt')
    const blocks = lane.requests.flat().filter(({ method }) => method === 'eth_getBlockReceipts')
    expect(asked.length + blocks.length).toBeLessThanOrEqual(100)
  })
})

describe('close', () => {
  test('P8: queued transactions end CLOSED, notExecuted; waits for journaled ones reject with inFlight', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(transfer(1)))
    lane.sender.pause()
    const second = await queue(lane, 2)
    const waiting = [lane.rejection(first.wait()), lane.rejection(second.wait())]
    await lane.settle(lane.sender.close())
    expect(await Promise.all(waiting)).toMatchObject([
      { code: 'CLOSED', fate: 'inFlight' },
      { code: 'CLOSED', fate: 'notExecuted' },
    ])
  })

  test('rejects a send that waits for acceptance with inFlight', async () => {
    await using lane = await openLane()
    lane.script = onSend(() => TIMES_OUT)
    const pending = lane.rejection(lane.sender.send(transfer(1)))
    await lane.clock.advance(500)
    await lane.settle(lane.sender.close())
    expect(await pending).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
  })

  test('after it every call rejects with CLOSED, and a second close has no effect', async () => {
    await using lane = await openLane()
    await lane.settle(Promise.all([lane.sender.close(), lane.sender.close()]))
    const { sender } = lane
    const closed = { code: 'CLOSED', fate: 'notExecuted' }
    for (const call of [
      () => sender.send(transfer(1)),
      () => sender.ready(),
      () => sender.snapshot(),
      () => sender.drain(),
      () => sender.list(),
      () => sender.resync(),
      () => sender.resolve('a', 'executed'),
    ]) {
      expect(await lane.rejection(call())).toMatchObject(closed)
    }
    // P5: a transaction that an earlier call sent with this id may still execute.
    for (const call of [() => sender.get('a'), () => sender.send(transfer(1), { id: 'a' })])
      expect(await lane.rejection(call())).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
    sender.pause()
    sender.resume()
    sender.observe({ hashes: [], blockNumber: 0n })
  })

  test('P5: rejects a cancel that waits for lossDepth with CLOSED, executed so far, because sealed is no verdict', async () => {
    await using lane = await openLane({ lossDepth: 30 })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    const answer = lane.rejection(tx.cancel())
    await lane.settle(lane.sender.close())
    expect(await answer).toMatchObject({ code: 'CLOSED', fate: 'executed' })
  })

  test('P8: calls on a transaction reject with CLOSED and its fate, and nothing is sent', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(lane.sender.close())
    const before = lane.sent.length
    for (const call of [
      () => tx.wait(),
      () => tx.cancel(),
      () => tx.speedUp(),
      () => tx.replace(transfer(2)),
    ]) {
      expect(await lane.rejection(call())).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
    }
    await lane.blocks(1)
    expect(lane.sent).toHaveLength(before)
  })

  test('closes a sender that was never opened without a request to the node', async () => {
    await using lane = await openLane({ closed: true })
    await lane.settle(lane.sender.close())
    expect(lane.requests).toEqual([])
  })

  test('answers cancel for a transaction whose end is under way at close', async () => {
    await using lane = await openLane()
    lane.script = swallow(1, 'noop')
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const answer = lane.rejection(tx.cancel())
    await lane.blocks(1)
    await lane.settle(lane.sender.close())
    expect(await answer).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
  })
})

describe('drain', () => {
  test('resolves when nothing is queued, all is sealed and no gap remains; at once on an idle lane', async () => {
    await using lane = await openLane()
    await lane.settle(lane.sender.drain(), 100)
    const all = [1, 2, 3].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.settle(Promise.all(all))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('an abort ends the wait and nothing else', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(transfer(1)))
    const controller = new AbortController()
    const pending = lane.rejection(lane.sender.drain({ signal: controller.signal }))
    await lane.clock.advance(1_000)
    controller.abort()
    expect(await pending).toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
    lane.script = undefined
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1])
  })
})

describe('a transaction that is settled', () => {
  test('P9: releases its deadline and its signal', async () => {
    await using lane = await openLane()
    const { signal } = new AbortController()
    const listening = () => getEventListeners(signal, 'abort').length
    const options = { signal, expires: inMs(lane, 3_600_000) }
    const tx = await lane.settle(lane.sender.send(transfer(1), options))
    expect(listening()).toBe(1)
    await lane.settle(tx.wait('finalized'))
    await lane.blocks(1)
    expect(listening()).toBe(0)
  })
})

describe('an end', () => {
  test('P5: is announced to any caller only once it is in the store, because a crash would undo it', async () => {
    const inner = memoryStore()
    let gate = Promise.resolve()
    let open = () => {}
    const store: Store = { ...inner, write: (...given) => gate.then(() => inner.write(...given)) }
    await using lane = await openLane({ store })
    lane.sender.pause()
    const tx = await queue(lane, 1)
    gate = new Promise((resolve) => {
      open = resolve
    })
    const reported: string[] = []
    const cancelled = tx.cancel().then(() => reported.push('cancel'))
    const waited = lane.rejection(tx.wait()).then(() => reported.push('wait'))
    await lane.clock.advance(1_000)
    expect(reported).toEqual([])
    open()
    await lane.settle(Promise.all([cancelled, waited]))
    expect(reported).toHaveLength(2)
    lane.sender.resume()
    await lane.blocks(1)
    expect(lane.sent).toEqual([])
  })
})
