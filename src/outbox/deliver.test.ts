import { describe, expect, test } from 'vitest'
import { DeliveryError } from './deliveryError.js'
import { blockOf, LANE, OTHER_LANE, openOutboxes, scripted } from './outbox.fixture.js'

const SEALED = { stage: 'sealed', block: blockOf('1'), nonce: 3 } as const
const FINALIZED = { ...SEALED, stage: 'finalized', verdict: 'landed' } as const
const fails =
  (message = 'no') =>
  () =>
    Promise.reject(new Error(message))

describe('deliveries', () => {
  test('come once per stage, with the record, in the order of the stages', async () => {
    const { clock, put, started } = openOutboxes()
    const { outbox, calls, deliveries } = await started()
    await put('a', { stage: 'queued' })
    await put('a', { stage: 'accepted', nonce: 3 })
    await clock.advance(2_000)
    await put('a', SEALED)
    await clock.advance(2_000)
    await put('a', { ...SEALED, status: 'success' })
    await put('a', FINALIZED)
    await put('b', { stage: 'failed', failure: { code: 'REJECTED', message: 'no' } })
    await clock.advance(2_000)
    expect(calls).toEqual(['a:sealed', 'a:finalized', 'b:failed'])
    expect(deliveries[0]).toMatchObject({
      number: 1,
      attempt: 1,
      tx: { id: 'a', stage: 'sealed', nonce: 3, block: SEALED.block },
    })
    expect(deliveries[2]?.tx.error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(new Set(deliveries.map(({ key }) => key)).size).toBe(3)
    await outbox.close()
    await clock.advance(20_000)
    expect(clock.pendingTimers).toBe(0)
  })

  test('include a stage that was passed before the first read, before the next stage', async () => {
    const { clock, put, started } = openOutboxes()
    const stages = ['sealed', 'settled', 'finalized'] as const
    const { calls, deliveries } = await started({ stages })
    await put('a', FINALIZED)
    await clock.advance(2_000)
    expect(calls).toEqual(['a:sealed', 'a:settled', 'a:finalized'])
    expect(deliveries.map(({ number, tx }) => [number, tx.stage])).toEqual([
      [1, 'finalized'],
      [2, 'finalized'],
      [3, 'finalized'],
    ])
  })

  test('include only the wanted stages, also of transactions beyond them', async () => {
    const { clock, put, started } = openOutboxes()
    const sealed = await started({ stages: ['sealed'] })
    const ends = await started({ name: 'ends', stages: ['failed'] })
    await put('a', FINALIZED)
    await put('b', { stage: 'cancelled' })
    await put('c', { stage: 'failed' })
    await clock.advance(2_000)
    expect(sealed.calls).toEqual(['a:sealed'])
    expect(ends.calls).toEqual(['c:failed'])
  })

  test('of a new name start now, or with the oldest transaction', async () => {
    const { clock, put, started } = openOutboxes()
    await put('a', SEALED)
    const now = await started()
    const oldest = await started({ name: 'all', from: 'oldest' })
    await clock.advance(2_000)
    expect([now.calls, oldest.calls]).toEqual([[], ['a:sealed']])
    // A stage from before the name existed is delivered with the next stage.
    await put('a', FINALIZED)
    await clock.advance(2_000)
    expect(now.calls).toEqual(['a:sealed', 'a:finalized'])
  })

  test('are limited to one chain, if one is given', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls, outbox } = await started({ chainId: 2 })
    await put('a', SEALED)
    await put('b', SEALED, { ...LANE, chainId: 2, address: OTHER_LANE.address })
    await clock.advance(2_000)
    expect(calls).toEqual(['b:sealed'])
    expect((await outbox.snapshot()).behind).toBe(0)
  })

  test('start again for an id that restarted', async () => {
    const { clock, store, put, started } = openOutboxes()
    const { calls } = await started()
    await put('a', { stage: 'failed' })
    await clock.advance(2_000)
    const failed = await store.find(LANE, { id: 'a' })
    const anew = { ...(failed as NonNullable<typeof failed>), stage: 'queued', life: 1 } as const
    await store.restart(anew, failed as NonNullable<typeof failed>)
    await clock.advance(2_000)
    const restarted = await store.find(LANE, { id: 'a' })
    await put('a', { ...restarted, stage: 'failed' })
    await clock.advance(2_000)
    expect(calls).toEqual(['a:failed', 'a:failed'])
  })
})

test("of changes during a handler's run come after it", async () => {
  const { clock, put, started } = openOutboxes()
  let accept = () => {}
  const slow = () =>
    new Promise<void>((resolve) => {
      accept = resolve
    })
  const { calls } = await started({ onStage: scripted(slow) })
  await put('a', SEALED)
  await clock.advance(2_000)
  await put('a', FINALIZED)
  await clock.advance(2_000)
  expect(calls).toEqual(['a:sealed'])
  accept()
  await clock.advance(2_000)
  expect(calls).toEqual(['a:sealed', 'a:finalized'])
})

describe('a reorg', () => {
  test('withdraws a delivered stage, which is delivered again for another block', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls, deliveries } = await started()
    await put('a', SEALED)
    await clock.advance(2_000)
    await put('a', { stage: 'accepted', block: undefined })
    await clock.advance(2_000)
    await put('a', { ...SEALED, block: blockOf('2') })
    await clock.advance(2_000)
    expect(calls).toEqual(['a:sealed', 'a:reorged', 'a:sealed'])
    expect(new Set(deliveries.map(({ key }) => key)).size).toBe(3)
  })

  test('that replaced a block between two reads is delivered as the other block', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls, deliveries } = await started()
    await put('a', SEALED)
    await clock.advance(2_000)
    await put('a', { ...SEALED, block: blockOf('2') })
    await clock.advance(2_000)
    expect(calls).toEqual(['a:sealed', 'a:sealed'])
    expect(deliveries[1]?.tx.block).toEqual(blockOf('2'))
  })

  test('is implied by a later failure, or delivered as `reorged` if failures are not wanted', async () => {
    const { clock, put, started } = openOutboxes()
    const all = await started()
    const few = await started({ name: 'few', stages: ['sealed'] })
    await put('a', SEALED)
    await clock.advance(2_000)
    await put('a', { stage: 'failed', block: undefined })
    await clock.advance(2_000)
    expect(all.calls).toEqual(['a:sealed', 'a:failed'])
    expect(few.calls).toEqual(['a:sealed', 'a:reorged'])
  })

  test('corrects a delivered failure of a transaction that is in a block', async () => {
    const { clock, put, started } = openOutboxes()
    const all = await started()
    const few = await started({ name: 'few', stages: ['failed'] })
    await put('a', { stage: 'failed' })
    await clock.advance(2_000)
    await put('a', SEALED)
    await clock.advance(2_000)
    expect(all.calls).toEqual(['a:failed', 'a:sealed'])
    expect(few.calls).toEqual(['a:failed', 'a:reorged'])
  })

  test('withdraws a refused delivery, which the receiver may have seen, before any other', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls } = await started({ onStage: scripted(fails()) })
    await put('a', SEALED)
    await clock.advance(1_200)
    await put('a', { stage: 'accepted', block: undefined })
    await clock.advance(5_000)
    expect(calls).toEqual(['a:sealed', 'a:reorged'])
  })
})

describe('a failing handler', () => {
  test('gets the same delivery after pauses that double until it accepts, and then the next one', async () => {
    const { clock, put, started } = openOutboxes()
    const times: number[] = []
    const step = scripted(fails(), fails(), fails())
    const { calls, deliveries } = await started({
      onStage() {
        times.push(clock.now())
        return step()
      },
    })
    await put('a', SEALED)
    await clock.advance(300)
    await put('a', FINALIZED)
    await clock.advance(20_000)
    expect(calls).toEqual(['a:sealed', 'a:sealed', 'a:sealed', 'a:sealed', 'a:finalized'])
    expect(deliveries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 1])
    expect(new Set(deliveries.slice(0, 4).map(({ key }) => key)).size).toBe(1)
    const pauses = times.map((at, index) => at - (times[index - 1] ?? at)).slice(1, 4)
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(Math.max(1_000, 500 * 2 ** index))
      expect(pause).toBeLessThanOrEqual(1_000 * 2 ** index + 5)
    }
  })

  test('is never left alone for longer than the maximum pause', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls } = await started({
      onStage: () => Promise.reject(new Error('no')),
      retryMinMs: 100,
      retryMaxMs: 400,
    })
    await put('a', SEALED)
    await clock.advance(60_000)
    expect(calls.length).toBeGreaterThan(140)
  })

  test('fails by throwing, or by rejecting with a value that is no error', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls, outbox } = await started({
      onStage: scripted(
        () => {
          throw new Error('at once')
        },
        () => Promise.reject(undefined),
      ),
    })
    await put('a', SEALED)
    await clock.advance(2_900)
    expect((await outbox.snapshot()).failing).toMatchObject([
      { reason: 'It failed without a message.', tries: 2 },
    ])
    await clock.advance(5_000)
    expect(calls).toHaveLength(3)
    expect((await outbox.snapshot()).failing).toEqual([])
  })

  test('does not delay other transactions, even if it never answers', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls } = await started({
      concurrency: 2,
      onStage({ tx: { id } }) {
        if (id === 'bad') throw new Error('no')
        return id === 'silent' ? new Promise(() => {}) : undefined
      },
    })
    await put('bad', SEALED)
    await put('silent', SEALED)
    await clock.advance(100)
    for (let index = 0; index < 50; index++) await put(`t${index}`, SEALED)
    await clock.advance(2_000)
    expect(calls.filter((call) => call.startsWith('t'))).toHaveLength(50)
  })

  test('that never answers leaves room for deliveries that were never tried', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls } = await started({
      concurrency: 4,
      timeoutMs: 5_000,
      onStage: ({ tx: { id } }) => (id.startsWith('silent') ? new Promise(() => {}) : undefined),
    })
    for (let index = 0; index < 8; index++) await put(`silent${index}`, SEALED)
    await clock.advance(20_000)
    for (let round = 0; round < 20; round++) {
      await put(`t${round}`, SEALED)
      await clock.advance(1_200)
      expect(calls).toContain(`t${round}:sealed`)
    }
  })

  test('that does not answer is notified by its signal, and called again', async () => {
    const { clock, put, started } = openOutboxes()
    const aborted: boolean[] = []
    const { calls, outbox } = await started({
      timeoutMs: 5_000,
      onStage: (_, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => aborted.push(true))),
    })
    await put('a', SEALED)
    await clock.advance(6_100)
    expect(aborted).toEqual([true])
    expect((await outbox.snapshot()).failing).toMatchObject([{ id: 'a', reason: 'No answer in 5000 ms.' }])
    await clock.advance(1_500)
    expect(calls).toEqual(['a:sealed', 'a:sealed'])
  })

  test('that fails for good is given up, shown, logged, and retried by `retry` or when the transaction changes', async () => {
    const { clock, put, started } = openOutboxes()
    const gone = () => Promise.reject(new DeliveryError('It is gone.', { isFinal: true }))
    const { calls, outbox, lines } = await started({ onStage: scripted(gone, gone) })
    await put('a', SEALED)
    await clock.advance(60_000)
    expect(calls).toHaveLength(1)
    expect(await outbox.snapshot()).toMatchObject({
      waiting: 0,
      stopped: 1,
      failing: [{ id: 'a', chainId: 1, stage: 'sealed', tries: 1, reason: 'It is gone.', isStopped: true }],
    })
    expect(lines.join()).toContain('gave up on a (sealed) after 1 tries: It is gone.')
    expect(await outbox.retry()).toBe(1)
    await clock.advance(1_000)
    expect(calls).toHaveLength(2)
    await put('a', FINALIZED)
    await clock.advance(2_000)
    expect(calls.slice(2)).toEqual(['a:sealed', 'a:finalized'])
    expect(await outbox.snapshot()).toMatchObject({ waiting: 0, stopped: 0, failing: [] })
  })

  test('that fails too often is given up', async () => {
    const { clock, put, started } = openOutboxes()
    const { calls, outbox } = await started({ triesMax: 3, onStage: fails() })
    await put('a', SEALED)
    await clock.advance(60_000)
    expect(calls).toHaveLength(3)
    expect((await outbox.snapshot()).failing).toMatchObject([{ tries: 3, isStopped: true }])
  })

  test('is left alone for as long as it asks', async () => {
    const { clock, put, started } = openOutboxes()
    const later = () => Promise.reject(new DeliveryError('Later.', { retryAfterMs: 60_000 }))
    const { calls, outbox } = await started({ onStage: scripted(later, later) })
    await put('a', SEALED)
    await clock.advance(59_000)
    expect(calls).toHaveLength(1)
    await clock.advance(2_000)
    expect(calls).toHaveLength(2)
    expect(await outbox.retry()).toBe(1)
    await clock.advance(100)
    expect(calls).toHaveLength(3)
  })

  test('is logged from the third failure on, similar failures as a count, and without secrets', async () => {
    const { clock, put, started } = openOutboxes()
    const lines: (readonly [object, string | undefined])[] = []
    const logger = {
      info() {},
      warn: (fields: object, message?: string) => void lines.push([fields, message]),
    }
    const { lines: console } = await started({
      logger,
      onStage: fails('POST https://user:pass@example.com/key?token=secret failed'),
    })
    for (const id of ['a', 'b', 'c']) await put(id, SEALED)
    await clock.advance(30_000)
    expect(lines[0]?.[1]).toBe('a delivery fails, and is tried again')
    expect(lines[0]?.[0]).toMatchObject({ outbox: 'orders', tries: 3, stage: 'sealed', times: 1 })
    expect(lines.length).toBeLessThanOrEqual(3)
    expect(JSON.stringify(lines)).not.toMatch(/pass|secret|key\?/)
    expect(console).toEqual([])
  })
})
