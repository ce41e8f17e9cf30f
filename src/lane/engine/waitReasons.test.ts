import { describe, expect, test } from 'vitest'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import {
  onSend,
  openLane,
  refuses,
  type SimLane,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Tx, TxRequest } from '../../types/index.js'

function unpriced(marker: number): TxRequest {
  const { gas: _, ...request } = transfer(marker) as TxRequest & { gas?: bigint }
  return request as TxRequest
}

const queued = (lane: SimLane, request: TxRequest, options = {}): Promise<Tx> =>
  lane.settle(lane.sender.send(request, { until: 'queued', ...options }))

const HTML: RpcReply = {
  ok: false,
  failure: { kind: 'malformed', message: 'a body that is not JSON: <title>502 Bad Gateway</title>' },
}
const BUSY: RpcReply = { ok: false, failure: { kind: 'http', status: 503, message: 'HTTP 503' } }
const TOO_OFTEN: RpcReply = { ok: false, failure: { kind: 'http', status: 429, message: 'HTTP 429' } }
const NONSENSE: RpcReply = { ok: true, result: 'nonsense' }

describe('the reason of a wait is available as a sentence', () => {
  test("for a gas estimate, with the endpoint's message", async () => {
    await using lane = await openLane()
    lane.script = ({ method }) => (method === 'eth_estimateGas' ? refuses('header not found') : undefined)
    const tx = await queued(lane, unpriced(1))
    await lane.until(() => (tx.waitingFor as { tries?: number } | undefined)?.tries === 2)
    expect(tx.waitingFor).toMatchObject({
      for: 'estimate',
      endpoint: 'sim',
      said: 'header not found',
      operator: false,
    })
    expect(tx.waitingFor?.sentence).toBe(
      'Its gas estimate was asked for 2 times and is asked for again; the endpoint sim said: "header not found".',
    )
    lane.script = undefined
    await lane.settle(tx.wait('sealed'))
    expect(tx.waitingFor).toBeUndefined()
  })

  test('for funds, with the required and the available amount, and with one event, because an operator has to act', async () => {
    await using lane = await openLane({ balanceWei: 0n })
    const all = [await queued(lane, transfer(1)), await queued(lane, transfer(2))]
    await lane.clock.advance(10_000)
    expect(all[0]?.waitingFor).toMatchObject({ for: 'funds', balanceWei: 0n, operator: true })
    expect(all[0]?.waitingFor?.sentence).toMatch(
      /^It waits for money: it may cost \d+ wei, and the account has 0 wei\.$/,
    )
    const { waiting } = await lane.snapshot()
    expect(waiting).toMatchObject({ head: { id: all[0]?.id, for: 'funds' }, by: { funds: 2 } })
    expect(lane.events('waiting')).toHaveLength(1)
    expect(lane.events('waiting')).toMatchObject([{ waitingFor: { for: 'funds', operator: true } }])
    for (const tx of all) await lane.settle(tx.cancel())
  })

  test('for a hold with its name, a predecessor, and a transaction that goes first', async () => {
    await using lane = await openLane({ order: 'strict' })
    lane.sender.pause()
    const first = await queued(lane, transfer(1), { id: 'first' })
    expect(first.waitingFor).toMatchObject({ for: 'hold', holds: ['paused'], operator: true })
    const second = await queued(lane, transfer(2), { id: 'second', after: ['first'] })
    expect(second.waitingFor).toMatchObject({ for: 'condition', after: ['first'] })
    lane.script = ({ method }) => (method === 'eth_sendRawTransaction' ? TIMES_OUT : undefined)
    lane.sender.resume()
    const third = await queued(lane, transfer(3))
    await lane.clock.advance(100)
    expect(third.waitingFor).toMatchObject({ for: 'order', behind: 'second' })
    lane.script = undefined
    await lane.settle(third.wait('sealed'))
  })

  test('for an endpoint with its message, an earlier nonce, the window, and the next block', async () => {
    await using lane = await openLane({
      chain: { rules: 'geth', blockTimeMs: 12_000 },
      // Twice as many get a nonce, because signed transactions wait for the answers to earlier sends.
      limits: { window: 2, windowMax: 2 },
    })
    lane.script = onSend((tx) => (tx.nonce === 0 ? refuses('txpool is full') : undefined))
    const all: Tx[] = []
    for (let marker = 1; marker <= 5; marker++) all.push(await queued(lane, transfer(marker)))
    await lane.clock.advance(1_000)
    expect(all[0]?.waitingFor).toMatchObject({ for: 'endpoint', endpoint: 'sim', said: 'txpool is full' })
    expect(all[1]?.waitingFor).toMatchObject({ for: 'nonce', nonce: 0 })
    expect(all[4]?.waitingFor?.for).toBe('window')
    lane.script = undefined
    await lane.until(() => all[0]?.stage === 'accepted')
    expect(all[0]?.waitingFor).toMatchObject({ for: 'block' })
    await lane.settle(Promise.all(all.map((tx) => tx.wait('sealed'))))
    expect(all.map((tx) => tx.waitingFor)).toEqual(all.map(() => undefined))
    const listed = await lane.settle(lane.sender.list())
    expect(listed.items.every((one) => one.waitingFor === undefined)).toBe(true)
  })
})

describe('reports each change once while an endpoint gives no usable answer', () => {
  test.each([
    ['an HTML page', HTML, /502 Bad Gateway/],
    ['503', BUSY, /HTTP 503/],
    ['429', TOO_OFTEN, /HTTP 429/],
    ['no answer in time', TIMES_OUT, /no answer in time/],
    ['nonsense', NONSENSE, /.+/],
  ])('%s', async (_, answer, said) => {
    await using lane = await openLane()
    lane.script = () => answer
    const sent = Promise.allSettled(
      Array.from({ length: 20 }, (__, index) => lane.sender.send(transfer(index + 1))),
    )
    await lane.clock.advance(15_000)
    const changes = () =>
      lane.events('endpoint').filter(({ change }) => change === 'failing' || change === 'answering')
    expect(changes()).toMatchObject([{ change: 'failing', name: 'sim', said: expect.stringMatching(said) }])
    const { endpoints, waiting } = await lane.snapshot()
    expect(endpoints[0]?.failing?.said).toMatch(said)
    expect(waiting.head?.sentence).toBeTruthy()
    expect(Object.values(waiting.by).reduce((sum, count) => sum + count, 0)).toBe(20)
    lane.script = undefined
    await lane.settle(sent)
    // The poll that finds the endpoint answering may still be running.
    await lane.until(() => changes().length > 1)
    expect(changes()).toMatchObject([{ change: 'failing' }, { change: 'answering' }])
    expect((await lane.snapshot()).endpoints[0]?.failing).toBeUndefined()
  })
})

test('a receipt that no endpoint shows, with the message of one of them', async () => {
  await using lane = await openLane()
  lane.script = ({ method }) =>
    method === 'eth_getTransactionReceipt' || method === 'eth_getBlockReceipts'
      ? refuses('transaction indexing is in progress')
      : undefined
  const tx = await queued(lane, transfer(1))
  const landed = lane.settle(tx.wait('sealed'), 60_000)
  await lane.until(() => tx.waitingFor?.for === 'receipt' && /indexing/.test(tx.waitingFor.sentence))
  expect(tx.waitingFor).toMatchObject({ for: 'receipt', hash: tx.hash, operator: false })
  expect(tx.waitingFor?.sentence).toBe(
    'It is in a sealed block, and no endpoint has shown its receipt yet; one said: "code -32000, transaction indexing is in progress".',
  )
  lane.script = undefined
  await landed
  expect(tx.waitingFor).toBeUndefined()
})

test('stores the reason of a transaction rarely, for other processes', async () => {
  await using processes = await openProcesses()
  const { lane } = processes
  const [leader, standby] = await processes.pair()
  lane.script = ({ method }) =>
    method === 'eth_estimateGas' ? refuses('execution reverted: not yet', 3) : undefined
  // A transaction in flight, so that the result of a revert may depend on it.
  const first = leader.sender.send(transfer(1), { id: 'first', until: 'queued' })
  await lane.settle(first)
  const second = await lane.settle(
    leader.sender.send(transfer(2), {
      id: 'second',
      until: 'queued',
      after: ['first'],
      afterStage: 'finalized',
    }),
  )
  await lane.clock.advance(6_000)
  expect(second.waitingFor).toMatchObject({ for: 'condition' })
  const seen = await lane.settle(standby.sender.get('second'))
  expect(seen?.waitingFor).toMatchObject({ for: 'condition', after: ['first'] })
  expect(seen?.waitingFor?.sentence).toContain('first')
  const listed = await lane.settle(standby.sender.list())
  expect(listed.items.find(({ id }) => id === 'second')?.waitingFor).toContain('first')
  await lane.settle(second.cancel())
})
