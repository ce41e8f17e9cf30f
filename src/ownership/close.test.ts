import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { createSenderIn } from '../api/sender/sender.js'
import { openLane, refuses, type SimLane, swallow, transfer } from '../api/sender/simLane.fixture.js'
import { memoryStore } from '../store/memory.js'
import type { Store } from '../types/store.js'

/** A store whose writes of attempts take a given time, or never answer. */
function slowStore() {
  const inner = memoryStore()
  let pause = async () => {}
  const store = {
    ...inner,
    slow(lane: SimLane, ms: number) {
      pause = () => new Promise((resolve) => lane.clock.setTimer(resolve, ms))
    },
    breaks() {
      pause = () => Promise.reject(new Error('the connection is gone'))
    },
    async write(...[lease, change]: Parameters<Store['write']>) {
      if (change.slots.some((slot) => slot.attempts.length > 0)) await pause()
      await inner.write(lease, change)
    },
  }
  return store
}

/** The sender of another account: it shares the endpoints and the poller. */
function neighbour(lane: SimLane) {
  const account = createStubAccount('0x00000000000000000000000000000000000000bb')
  return createSenderIn(lane.environment, { ...lane.parameters, account })
}

describe('P8: calls that are under way when the lane closes get an answer', () => {
  test('resync, whose readings come in after it: CLOSED', async () => {
    await using lane = await openLane()
    const resync = lane.rejection(lane.sender.resync())
    await lane.settle(lane.sender.close())
    expect(await resync).toMatchObject({ code: 'CLOSED' })
  })

  test('resync, while the endpoint does not answer and others go on asking it: CLOSED', async () => {
    await using lane = await openLane()
    const other = neighbour(lane)
    await lane.settle(other.ready())
    const resync = lane.rejection(lane.sender.resync())
    await lane.clock.advance(6)
    lane.script = () => refuses('busy')
    await lane.clock.advance(1_000)
    await lane.settle(lane.sender.close())
    expect(await resync).toMatchObject({ code: 'CLOSED' })
    lane.script = undefined
    await lane.settle(other.close())
  })

  test('a wait whose receipt was asked for and is not shown: CLOSED, executed', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.until(() => tx.stage === 'sealed')
    lane.script = ({ method }) => (method.includes('Receipt') ? refuses('busy') : undefined)
    const wait = lane.rejection(tx.wait())
    await lane.settle(lane.sender.close())
    expect(await wait).toMatchObject({ code: 'CLOSED', fate: 'executed' })
  })

  test('a gap that is still to be filled: it is waited for without a look at the chain for each answer', async () => {
    const fails = [100, 0]
    let signatures = 0
    await using lane = await openLane({
      signMs: () => fails[signatures] ?? 0,
      fails: () => signatures++ === 0,
    })
    const [first, second] = [1, 2].map((marker) => lane.sender.send(transfer(marker)))
    await lane.rejection(first ?? Promise.reject())
    const before = lane.requests.length
    const closing = lane.sender.close()
    await lane.settle(closing)
    expect(lane.requests.length - before).toBeLessThan(20)
    expect(lane.executed()).toEqual([])
    await lane.blocks(2)
    expect(lane.executed()).toEqual(['noop', 2])
    await second
  })

  test('drain, with something still in flight: CLOSED, inFlight', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(transfer(1)))
    const drain = lane.rejection(lane.sender.drain())
    await lane.settle(lane.sender.close())
    expect(await drain).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
  })

  test('a replacement during the close, of a transaction that a slow store is writing: CLOSED, notExecuted', async () => {
    const store = slowStore()
    await using lane = await openLane({ store, limits: { closeTimeoutMs: 1_000 } })
    store.slow(lane, 5_000)
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.clock.advance(100)
    const closing = lane.sender.close()
    await lane.clock.advance(500)
    const replaced = lane.rejection(tx.replace(transfer(2)))
    await lane.settle(closing)
    expect(await replaced).toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
  })
})

describe('close does not wait for blocks, and rejects for the transactions that are no longer followed', () => {
  const logging = () => {
    const lines: unknown[][] = []
    return { lines, logger: { info() {}, warn: (...line: unknown[]) => void lines.push(line) } }
  }
  const losses = (lines: readonly unknown[][]) =>
    lines.filter(([, message]) => String(message).startsWith('closed with transactions in flight'))

  test('a transaction with a nonce is signed and sent; with a store that ends with the process the logger gets a warning', async () => {
    const { lines, logger } = logging()
    await using lane = await openLane({ logger, signMs: () => 300 })
    const sends = [1, 2, 3].map((marker) => lane.rejection(lane.sender.send(transfer(marker))))
    for (const send of sends) send.catch(() => {})
    await lane.clock.advance(50)
    lane.script = swallow(1, 2, 3)
    await lane.settle(lane.sender.close())
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([0, 1, 2])
    expect(losses(lines)).toMatchObject([[{ inFlight: 3 }, expect.any(String)]])
  })

  test('after a drain nothing is in flight, and there is no warning', async () => {
    const { lines, logger } = logging()
    await using lane = await openLane({ logger })
    await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(lane.sender.drain())
    await lane.settle(lane.sender.close())
    expect(lane.executed()).toEqual([1])
    expect(losses(lines)).toEqual([])
  })

  test('with a store that outlives the process the next owner has the transaction: no warning', async () => {
    const { lines, logger } = logging()
    const store: Store = { ...memoryStore(), durable: true }
    await using lane = await openLane({ logger, store })
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(lane.sender.close())
    expect(losses(lines)).toEqual([])
  })
})

test('P8: a transaction that waits for a busy store rejects with CLOSED before the close ends, and is not stored', async () => {
  const inner = memoryStore()
  const kept: string[] = []
  let answer = () => {}
  const busy: Store = {
    ...inner,
    async enqueue(transactions) {
      kept.push(...transactions.map(({ id }) => id))
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return inner.enqueue(transactions)
    },
  }
  await using lane = await openLane({ store: busy })
  const send = (id?: string) => lane.rejection(lane.sender.send(transfer(1), id === undefined ? {} : { id }))
  const taken = send('taken')
  await lane.clock.advance(10)
  const [own, ours] = [send('own'), send()]
  await lane.clock.advance(10)
  const closing = lane.sender.close()
  // The second call to the store would come a breath after the first.
  answer()
  await lane.settle(closing)
  await lane.clock.settle()
  expect(await taken).toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
  expect(await own).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
  expect(await ours).toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
  await lane.clock.advance(1_000)
  expect(kept).toEqual(['taken'])
})

test('P5: after an abort and a close, no answer claims that a possibly sent id was not executed', async () => {
  await using lane = await openLane()
  lane.script = swallow(1)
  await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
  await lane.settle(lane.sender.close())
  const again = lane.sender.send(transfer(1), { id: 'a', signal: AbortSignal.abort() })
  expect(await lane.rejection(again)).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
})

describe('P6, P7: nothing goes on behind a lane that has closed', () => {
  test('a store that stays silent about a commit does not hold it up', async () => {
    const store = slowStore()
    await using lane = await openLane({ store, limits: { closeTimeoutMs: 1_000 } })
    store.breaks()
    const send = lane.rejection(lane.sender.send(transfer(1)))
    await lane.clock.advance(2_000)
    await lane.settle(lane.sender.close())
    expect(await send).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
  })

  test('bytes that the store has taken too late are not sent, though others go on using the endpoint', async () => {
    const store = slowStore()
    await using lane = await openLane({ store, limits: { closeTimeoutMs: 100 } })
    const other = neighbour(lane)
    await lane.settle(other.ready())
    store.slow(lane, 5_000)
    const send = lane.rejection(lane.sender.send(transfer(1)))
    await lane.clock.advance(50)
    await lane.settle(lane.sender.close())
    await lane.clock.advance(5_000)
    expect(await send).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
    expect(lane.sent).toEqual([])
    await lane.settle(other.close())
  })
})
