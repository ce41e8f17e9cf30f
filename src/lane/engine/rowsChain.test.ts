import { describe, expect, test } from 'vitest'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { createSenderIn } from '../../api/sender/sender.js'
import { nameOf, openLane, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { Tx, TxRequest } from '../../types/index.js'
import { unresolved } from '../transaction/unresolved.fixture.js'

const named = (lane: SimLane, name: number | 'noop') => lane.sent.filter((tx) => nameOf(tx) === name)

describe('row 21: cancel', () => {
  test('a no-op outbids it and lands, and the answer at lossDepth is cancelled', async () => {
    await using lane = await openLane({ lossDepth: 3 })
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const waiting = lane.rejection(tx.wait())
    const answer = tx.cancel()
    await lane.until(() => lane.executed().includes('noop'))
    const sealedAt = lane.chain.head.number
    expect(await lane.settle(answer)).toEqual({ result: 'cancelled' })
    expect(lane.chain.head.number).toBeGreaterThanOrEqual(sealedAt + 3)
    const error = await waiting
    expect(error).toMatchObject({ code: 'CANCELLED', fate: 'notExecuted', tx: { stage: 'cancelled' } })
    expect(tx.stage).toBe('cancelled')
    expect(lane.events('cancelled')).toEqual([{ tx, error }])
    expect(lane.events('cancelled')[0]?.error).toBe(error)
  })

  test('P5: the claim is never bumped or resent afterwards, and does not land later', async () => {
    await using lane = await openLane()
    lane.script = swallow(1, 'noop')
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const before = named(lane, 1).length
    const answer = tx.cancel()
    await lane.blocks(6)
    expect(named(lane, 1)).toHaveLength(before)
    expect(named(lane, 'noop').length).toBeGreaterThan(1)
    lane.script = undefined
    expect(await lane.settle(answer)).toEqual({ result: 'cancelled' })
  })

  test("P3: the no-op for a transaction that its caller priced above the lane's ceiling may exceed it too", async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const price = 10n ** 10n
    const dear = { ...transfer(1), maxFeePerGas: price, maxPriorityFeePerGas: price } as TxRequest
    const tx = await lane.settle(lane.sender.send(dear))
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'cancelled' })
    expect(lane.executed()).toEqual(['noop'])
    for (const { maxFeeWei } of named(lane, 'noop')) expect(maxFeeWei).toBeLessThan((price * 125n) / 100n)
  })

  test('answers tooLate with the receipt if it landed all the same', async () => {
    await using lane = await openLane()
    lane.script = swallow('noop')
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const answer = await lane.settle(tx.cancel())
    expect(answer).toMatchObject({ result: 'tooLate', landed: { status: 'success', hash: tx.hash } })
    expect(lane.executed()).toEqual([1])
  })

  test('removes a transaction that is not journaled, with no bytes sent and no nonce used', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'removed' })
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'CANCELLED', fate: 'notExecuted' })
    lane.sender.resume()
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(next.nonce).toBe(0)
    expect(lane.sent.map(nameOf)).toEqual([2])
  })

  test('gives the same answer to a second call, and to a call after the end', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const answers = await lane.settle(Promise.all([tx.cancel(), tx.cancel()]))
    expect([...answers, await lane.settle(tx.cancel())]).toEqual(Array(3).fill({ result: 'cancelled' }))
    expect(lane.executed()).toEqual(['noop'])
  })
})

describe('row 22: replace', () => {
  test('row 29, T′ lands: T ends superseded, never executed', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(transfer(1)))
    const second = await lane.settle(first.replace(transfer(2)))
    expect(second.nonce).toBe(first.nonce)
    expect(await lane.settle(second.wait())).toMatchObject({ status: 'success' })
    expect(await lane.rejection(first.wait())).toMatchObject({ code: 'SUPERSEDED', fate: 'notExecuted' })
    expect(first.stage).toBe('superseded')
    expect(lane.events('replaced')).toHaveLength(1)
    expect(lane.executed()).toEqual([2])
  })

  test('row 29, T lands: T′ ends TOO_LATE, never executed', async () => {
    await using lane = await openLane()
    lane.script = swallow(2)
    const first = await lane.settle(lane.sender.send(transfer(1)))
    const second = await lane.settle(first.replace(transfer(2), { until: 'queued' }))
    expect(await lane.settle(first.wait())).toMatchObject({ status: 'success' })
    expect(await lane.rejection(second.wait())).toMatchObject({ code: 'TOO_LATE', fate: 'notExecuted' })
    expect(lane.executed()).toEqual([1])
  })

  test('drops a queued T for T′', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const first = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    const second = await lane.settle(first.replace(transfer(2), { until: 'queued' }))
    lane.sender.resume()
    await lane.settle(second.wait())
    expect(await lane.rejection(first.wait())).toMatchObject({ code: 'SUPERSEDED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual([2])
  })

  test('rejects replace and speedUp of a sealed transaction with the fate executed', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    const late = { code: 'TOO_LATE', fate: 'executed' }
    expect(await lane.rejection(tx.replace(transfer(2)))).toMatchObject(late)
    expect(await lane.rejection(tx.speedUp())).toMatchObject(late)
    expect(lane.sent).toHaveLength(1)
  })

  test('row 30: a cancelled chain of replacements: the last ends cancelled, the earlier ones superseded', async () => {
    await using lane = await openLane()
    lane.script = swallow(1, 2)
    const first = await lane.settle(lane.sender.send(transfer(1)))
    const second = await lane.settle(first.replace(transfer(2)))
    expect(await lane.settle(second.cancel())).toEqual({ result: 'cancelled' })
    expect([first.stage, second.stage]).toEqual(['superseded', 'cancelled'])
    expect(lane.executed()).toEqual(['noop'])
  })
})

describe('rows 23 and 24: seen in blocks', () => {
  test('row 23: withdraws a pre-confirmation if the sealed block of that number lacks it', async () => {
    await using lane = await openLane()
    await lane.until(() => lane.chain.head.number === 1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('preconfirmed'))
    const stages: string[] = []
    lane.sender.on('reorged', () => stages.push(tx.stage))
    lane.chain.loseFlashblocks(10)
    await lane.until(() => stages.length > 0)
    expect(stages).toEqual(['accepted'])
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })

  test('row 24: the attempt that lands need not be the newest', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.until(() => tx.attempts.length === 2)
    lane.chain.submit(lane.sent[0]?.raw ?? '')
    expect(await lane.settle(tx.wait())).toMatchObject({ hash: lane.sent[0]?.hash, status: 'success' })
    expect(tx.hash).toBe(lane.sent[0]?.hash)
    expect(await lane.settle(lane.sender.get({ hash: lane.sent.at(-1)?.hash ?? '0x' }))).toBe(tx)
  })
})

describe('rows 25, 26, 27 and 31: a nonce used by something else', () => {
  test('rows 25, 31, P4: moves it to another nonce only at lossDepth, and executes it once', async () => {
    await using lane = await openLane({ lossDepth: 4 })
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    lane.foreign()
    await lane.until(() => lane.executed().includes('foreign'))
    const usedAt = lane.chain.head.number
    lane.script = undefined
    await lane.until(() => lane.sent.some(({ nonce }) => nonce === 1))
    expect(lane.chain.head.number).toBeGreaterThanOrEqual(usedAt + 4)
    expect(lane.events('foreign')).toEqual([expect.objectContaining({ nonce: 0 })])
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 1 })
    expect(lane.executed()).toEqual(['foreign', 1])
  })

  test('row 31: does not move a transaction that was cancelled when it lost its nonce', async () => {
    await using lane = await openLane()
    lane.script = swallow(1, 'noop')
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const answer = tx.cancel()
    lane.foreign()
    expect(await lane.settle(answer)).toEqual({ result: 'cancelled' })
    expect(lane.executed()).toEqual(['foreign'])
  })

  test('row 25: continues above a nonce to which nothing is bound', async () => {
    await using lane = await openLane()
    await lane.settle(lane.settle(lane.sender.send(transfer(1))).then((tx) => tx.wait()))
    lane.foreign()
    await lane.blocks(2)
    const tx = await lane.settle(lane.sender.send(transfer(2)))
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1, 'foreign', 2])
  })

  test('row 26, P4: without evidence: UNRESOLVED, in flight, never moved automatically', async () => {
    await using lane = await openLane()
    const tx = await unresolved(lane)
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'UNRESOLVED', fate: 'inFlight' })
    await lane.blocks(6)
    expect(named(lane, 1).every(({ nonce }) => nonce === 0)).toBe(true)
    expect(lane.events('unresolved')).toEqual([expect.objectContaining({ nonce: 0 })])
  })

  test("row 27: the operator's decision notExecuted moves it to another nonce", async () => {
    await using lane = await openLane()
    const tx = await unresolved(lane)
    lane.script = undefined
    await lane.settle(lane.sender.resolve(tx.id, 'notExecuted'))
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 1, status: 'success' })
    expect(lane.executed()).toEqual(['foreign', 1])
  })

  test("row 27: after the operator's decision executed it is never sent again, and the error says executed", async () => {
    await using lane = await openLane()
    const tx = await unresolved(lane)
    lane.script = undefined
    await lane.settle(lane.sender.resolve(tx.id, 'executed'))
    expect(await lane.rejection(tx.wait())).toMatchObject({ fate: 'executed' })
    await lane.blocks(3)
    expect(lane.executed()).toEqual(['foreign'])
    expect(await lane.rejection(lane.sender.resolve(tx.id, 'notExecuted'))).toMatchObject({ code: 'INVALID' })
  })

  test('rows 26 and 22: the replaced transaction is as unresolved as the replacement, and needs a decision of its own', async () => {
    await using lane = await openLane()
    let next: Tx | undefined
    const tx = await unresolved(lane, async (first) => {
      next = await lane.settle(first.replace(transfer(2), { until: 'queued' }))
      await lane.until(() => named(lane, 2).length > 0)
    })
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'UNRESOLVED', fate: 'inFlight' })
    expect(lane.events('unresolved').map((reported) => (reported.tx as Tx).id)).toEqual([tx.id, next?.id])
    await lane.settle(lane.sender.resolve(next?.id ?? '', 'notExecuted'))
    await lane.settle(lane.sender.resolve(tx.id, 'executed'))
    expect(await lane.rejection(tx.wait())).toMatchObject({ fate: 'executed' })
  })

  test('row 26: a sender that starts with it notifies its listeners', async () => {
    const store = memoryStore()
    await using lane = await openLane({ store })
    const tx = await unresolved(lane)
    await lane.settle(lane.sender.close())
    const again = createSenderIn(
      { ...lane.environment, shared: createShared() },
      { ...lane.parameters, store },
    )
    const reported: string[] = []
    again.on('unresolved', (event) => void reported.push(event.tx?.id ?? ''))
    await lane.settle(again.ready())
    expect(reported).toEqual([tx.id])
    await lane.settle(again.close())
  })

  test('row 26: a process that takes the lane over notifies its listeners, and passes the decision on', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    const tx = await unresolved(lane, undefined, first)
    expect(second.events('unresolved')).toEqual([])
    first.freeze()
    const next = await lane.settle(second.sender.send(transfer(2), { until: 'queued' }))
    await lane.until(() => second.events('unresolved').length > 0)
    expect(second.events('unresolved')).toEqual([{ nonce: 0, tx: expect.objectContaining({ id: tx.id }) }])
    lane.script = undefined
    await lane.settle(second.sender.resolve(tx.id, 'notExecuted'))
    await lane.settle(next.wait())
    first.thaw()
    await lane.settle(first.sender.drain())
    expect(await lane.settle(tx.wait())).toMatchObject({ status: 'success' })
    expect(lane.executed().toSorted()).toEqual([1, 2, 'foreign'])
  })
})

describe('rows 28, 32 and 33: blocks that leave the chain, and final blocks', () => {
  test('row 28: back to accepted, the newest attempt is resent, and it lands again', async () => {
    await using lane = await openLane({ lossDepth: 5 })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    lane.chain.reorg({ depth: 2, drops: () => true })
    lane.chain.seal()
    await lane.until(() => lane.events('reorged').length === 1)
    expect(tx.stage).not.toBe('sealed')
    expect(await lane.settle(tx.wait('safe'))).toMatchObject({ status: 'success' })
    expect(lane.executed()).toEqual([1])
    expect((await lane.snapshot()).holds).toEqual([])
  })

  test('row 28: a block below the start of the walk leaves as well', async () => {
    await using lane = await openLane({ lossDepth: 12, closed: true, coldStart: 'immediate' })
    lane.chain.start()
    await lane.blocks(2)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    lane.chain.reorg({ depth: 2 })
    const landed = await lane.settle(tx.wait('sealed'))
    expect(lane.chain.canonical.findIndex(({ executed }) => executed.length > 0)).toBe(1)
    expect(landed.stage).toBe('sealed')
    lane.chain.reorg({ depth: 2, drops: () => true })
    await lane.blocks(3)
    expect(lane.events('reorged')).toHaveLength(1)
  })

  test('row 28: a block that left while no process was running, below all walked blocks', async () => {
    const store = memoryStore()
    await using lane = await openLane({ store, lossDepth: 8, limits: { reorgHorizon: 12 } })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    await lane.settle(lane.sender.close())
    lane.chain.reorg({ depth: 2, drops: () => true })
    await lane.blocks(20)
    const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
    const reported: string[] = []
    for (const event of ['reorged', 'deepReorg', 'held'] as const) again.on(event, () => reported.push(event))
    const found = await lane.settle(again.get(tx.id))
    await lane.blocks(4)
    expect(lane.executed()).toEqual([1])
    // Deep enough by its number, but there is no verdict before the block is known to be canonical.
    expect(reported).toEqual(['reorged'])
    expect(await lane.settle(found?.wait('finalized') ?? Promise.reject())).toMatchObject({ nonce: 0 })
    await lane.settle(again.close())
  })

  test('row 32: a settled transaction whose block left while no process was running is not final by its age alone', async () => {
    const store = memoryStore()
    await using lane = await openLane({
      store,
      lossDepth: 1,
      limits: { reorgHorizon: 12 },
      chain: { finalizedDepth: 40 },
    })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(3)
    await lane.settle(lane.sender.close())
    lane.chain.reorg({ depth: 5, drops: () => true })
    await lane.blocks(40)
    expect(lane.executed()).toEqual([])
    const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
    let deepReorgs = 0
    again.on('deepReorg', () => deepReorgs++)
    await lane.settle(again.ready())
    await lane.blocks(4)
    expect(deepReorgs).toBe(1)
    expect(lane.executed()).toEqual([1])
    await lane.settle(again.close())
  })

  test('row 28: a foreign use that leaves the chain frees the nonce for the waiting claim', async () => {
    await using lane = await openLane({ lossDepth: 5 })
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    lane.foreign()
    await lane.until(() => lane.events('foreign').length === 1)
    lane.script = undefined
    lane.chain.reorg({ depth: 2, drops: () => true })
    lane.chain.seal()
    expect(await lane.settle(tx.wait('sealed'))).toMatchObject({ nonce: 0 })
    await lane.blocks(6)
    expect(lane.executed()).toEqual([1])
  })

  test('row 32, beyond P5: emits deepReorg, holds until resume, and re-sends the transactions that had landed', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    await lane.blocks(2)
    lane.chain.reorg({ depth: 4, drops: () => true })
    lane.chain.seal()
    await lane.until(() => lane.events('deepReorg').length === 1)
    expect((await lane.snapshot()).holds).toEqual(['deepReorg'])
    const next = await lane.settle(lane.sender.send(transfer(2), { until: 'queued' }))
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1])
    lane.sender.resume()
    await lane.settle(next.wait())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('row 33: beyond the horizon it is final, removed from the lane and found in the store', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    expect(await lane.settle(tx.wait('finalized'))).toMatchObject({ stage: 'finalized', status: 'success' })
    await lane.blocks(2)
    expect(lane.sender.inFlight()).toEqual([])
    const found = await lane.settle(lane.sender.get('a'))
    expect(found).toMatchObject({ id: 'a', stage: 'finalized', nonce: 0, hash: tx.hash })
    expect(await lane.settle((found ?? tx).wait())).toMatchObject({ status: 'success' })
    expect(await lane.settle((found ?? tx).cancel())).toMatchObject({ result: 'tooLate' })
  })
})
