import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import { createSenderIn } from '../../api/sender/sender.js'
import { ACCOUNT, openLane, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'
import type { TxRecord } from '../../types/index.js'

const isTick = (calls: SimLane['requests'][number]) =>
  calls[0]?.method === 'eth_getBlockByNumber' && calls[0].params[0] === 'latest'
const markers = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

/** A recent send causes more frequent polls, for three refreshes. */
const CLOSER_LOOK_MS = 700
/** One poll at the cadence, and its answer. */
const LOOK_MS = 200 + 20

describe('one poller', () => {
  test.each([1, 100])('sends one request per tick with %i in flight', async (inFlight) => {
    await using lane = await openLane({ limits: { window: 128 } })
    lane.script = swallow(...markers(inFlight))
    const all = markers(inFlight).map((marker) => lane.sender.send(transfer(marker)))
    await lane.settle(Promise.all(all))
    await lane.clock.advance(CLOSER_LOOK_MS)
    const before = lane.requests.length
    const startMs = lane.clock.now()
    await lane.clock.advance(900)
    const since = lane.requests.slice(before)
    const ticks = since.filter(isTick).length
    expect(since.length).toBe(ticks)
    expect(ticks).toBeLessThanOrEqual((lane.clock.now() - startMs) / 200 + 1)
  })

  test('several senders on one endpoint share the poller, with one request per tick', async () => {
    await using lane = await openLane()
    const others = [0xab, 0xac, 0xad].map((end) => {
      const account = createStubAccount(`0x${'0'.repeat(38)}${end.toString(16)}`)
      return createSenderIn(lane.environment, { ...lane.parameters, account })
    })
    await lane.settle(Promise.all(others.map((other) => other.ready())))
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(transfer(1)))
    await lane.clock.advance(CLOSER_LOOK_MS)
    const before = lane.requests.length
    await lane.clock.advance(950)
    const since = lane.requests.slice(before)
    expect(since.length).toBe(since.filter(isTick).length)
    expect(since.length).toBeLessThanOrEqual(6)
    await lane.settle(Promise.all(others.map((other) => other.close())))
  })

  test('two senders of one account share one lane, with distinct nonces', async () => {
    await using lane = await openLane()
    const other = createSenderIn(lane.environment, lane.parameters)
    const sent = await lane.settle(Promise.all([lane.sender.send(transfer(1)), other.send(transfer(2))]))
    expect(sent.map(({ nonce }) => nonce).sort()).toEqual([0, 1])
    await lane.settle(other.close())
    await lane.settle(sent[0].wait())
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toHaveLength(2)
  })

  test('neither an idle lane nor a lane whose nonces are all final sends requests', async () => {
    await using lane = await openLane()
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait('finalized'))
    await lane.blocks(2)
    const before = lane.requests.length
    await lane.clock.advance(60_000)
    expect(lane.requests.length).toBe(before)
    expect(lane.sender.inFlight()).toEqual([])
    await lane.settle((await lane.settle(lane.sender.send(transfer(2)))).wait())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('polls once a block once all transactions are sealed', async () => {
    await using lane = await openLane()
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait())
    await lane.blocks(1)
    const before = lane.requests.length
    await lane.blocks(4)
    expect(lane.requests.length - before).toBeLessThanOrEqual(6)
  })
})

describe('events', () => {
  test('emits each stage once, in order, with the transaction', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait('finalized'))
    const stages = lane.reported.filter(({ payload }) => payload.tx === tx).map(({ event }) => event)
    expect(stages).toEqual(['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])
  })

  test('a listener that throws harms neither the lane nor other listeners', async () => {
    await using lane = await openLane()
    const heard: string[] = []
    for (const event of ['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'] as const) {
      lane.sender.on(event, () => {
        throw new Error('not my problem')
      })
      lane.sender.on(event, () => void heard.push(event))
    }
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait())
    expect(heard).toEqual(['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])
  })

  test('a removed listener receives no events, and a second removal does nothing', async () => {
    await using lane = await openLane()
    let heard = 0
    const off = lane.sender.on('queued', () => heard++)
    await lane.settle(lane.sender.send(transfer(1)))
    off()
    off()
    await lane.settle(lane.sender.send(transfer(2)))
    expect(heard).toBe(1)
  })

  test('emits rebroadcast when bytes are sent again', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.until(() => lane.events('rebroadcast').length > 0)
    expect(lane.events('rebroadcast')[0]).toEqual({ tx })
  })
})

test('emits preconfirmed for the first transaction once a poll shows the meaning of `pending`', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.ready())
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.until(() => lane.chain.nextNonce(ACCOUNT) === 1)
  const shownAtMs = lane.clock.now()
  await lane.until(() => tx.stage === 'preconfirmed')
  expect((await lane.snapshot()).endpoints[0]?.profile).toMatchObject({ pending: 'preconfirmed' })
  expect(lane.clock.now() - shownAtMs).toBeLessThanOrEqual(LOOK_MS)
})

describe('observe', () => {
  test('an external feed reports a pre-confirmation before the poller does', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    lane.sender.observe({ hashes: [tx.hash ?? '0x'], blockNumber: BigInt(lane.chain.head.number + 1) })
    expect(tx.stage).toBe('preconfirmed')
  })

  test('row 23: withdraws a pre-confirmation of the feed that no sealed block contains, and ignores unknown hashes', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const hash = tx.hash?.toUpperCase().replace('0X', '0x') as `0x${string}`
    lane.sender.observe({ hashes: [`0x${'ab'.repeat(32)}`, hash], blockNumber: 0n })
    expect(tx.stage).toBe('preconfirmed')
    await lane.until(() => lane.events('reorged').length === 1)
    expect(tx.stage).toBe('accepted')
  })
})

describe('get, list, inFlight, snapshot', () => {
  test('get finds by id and by the hash of any attempt, and returns undefined for unknown values', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    await lane.until(() => tx.attempts.length === 2)
    for (const by of ['a', ...tx.attempts.map(({ hash }) => ({ hash }))]) {
      expect(await lane.settle(lane.sender.get(by))).toBe(tx)
    }
    expect(await lane.settle(lane.sender.get('b'))).toBeUndefined()
    expect(await lane.settle(lane.sender.get({ hash: `0x${'ab'.repeat(32)}` }))).toBeUndefined()
  })

  test('list returns all, newest first, each once, in pages and by stage', async () => {
    await using lane = await openLane()
    for (const marker of markers(7))
      await lane.settle(lane.sender.send(transfer(marker), { id: `t${marker}` }))
    await lane.settle(lane.sender.drain())
    lane.sender.pause()
    await lane.settle(lane.sender.send(transfer(8), { id: 't8', until: 'queued' }))
    const pages: TxRecord[][] = []
    let cursor: string | undefined
    do {
      const page = await lane.settle(lane.sender.list({ limit: 3, cursor }))
      pages.push(page.items)
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(pages.map((page) => page.length)).toEqual([3, 3, 2])
    expect(pages.flat().map(({ id }) => id)).toEqual(['t8', 't7', 't6', 't5', 't4', 't3', 't2', 't1'])
    const queued = await lane.settle(lane.sender.list({ stage: 'queued' }))
    const waitingFor = 'The lane reserves no nonces for now: it was paused, until resume().'
    expect(queued.items).toMatchObject([{ id: 't8', stage: 'queued', waitingFor }])
    const sealed = await lane.settle(lane.sender.list({ stage: 'sealed' }))
    expect(sealed.items).toHaveLength(7)
  })

  test('a transaction as JSON is plain and contains no bytes', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(
      lane.sender.send({ ...transfer(1), data: '0xfeedfacecafe', gas: 30_000n } as never, { id: 'a' }),
    )
    const { stage, hash, attempts } = tx
    expect(JSON.parse(JSON.stringify(tx))).toMatchObject({ id: 'a', stage, nonce: 0, hash })
    expect(attempts).toHaveLength(1)
    expect(JSON.stringify(tx)).not.toContain('feedfacecafe')
  })

  test('snapshot shows the lane, and inFlight the transactions with a nonce', async () => {
    await using lane = await openLane()
    lane.script = swallow(1, 2)
    const sent = await lane.settle(Promise.all([1, 2].map((marker) => lane.sender.send(transfer(marker)))))
    lane.sender.pause()
    await lane.settle(lane.sender.send(transfer(3), { until: 'queued' }))
    expect(lane.sender.inFlight()).toEqual(sent)
    expect(await lane.snapshot()).toMatchObject({
      address: ACCOUNT,
      chainId: 8453,
      floor: 0,
      cursor: 2,
      coveredTo: 0,
      window: 64,
      holes: [],
      queued: 1,
      inFlight: 2,
      holds: ['paused'],
      account: { kind: 'plain' },
      endpoints: [{ name: 'sim', role: 'both' }],
    })
  })

  test('delegated accounts: lands transactions one at a time', async () => {
    await using lane = await openLane({ code: `0xef0100${'ab'.repeat(20)}`, chain: { rules: 'reth' } })
    const all = markers(4).map((marker) => lane.sender.send({ ...transfer(marker), gas: 90_000n }))
    await lane.settle(Promise.all(all))
    expect(await lane.snapshot()).toMatchObject({ window: 1, account: { kind: 'delegated' } })
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4])
  })
})
