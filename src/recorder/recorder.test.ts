import { describe, expect, test } from 'vitest'
import { TxlaneError } from '../errors/base.js'
import { eventNames } from '../lane/emitter.js'
import type { SenderEvents, Tx } from '../types/index.js'
import {
  createStubFile,
  createStubSender,
  createStubTx,
  everyPayload,
  LANE,
  parse,
  record,
} from './recorder.fixture.js'

const HASH = `0x${'ab'.repeat(32)}` as const
const OTHER = `0x${'cd'.repeat(32)}` as const
const attempt = (hash: `0x${string}`, maxFeePerGas: bigint) =>
  ({ nonce: 7, hash, fees: { maxFeePerGas, maxPriorityFeePerGas: 1n } }) as Tx['attempts'][number]

describe('a recording', () => {
  test('begins with its format, and names the followed lanes', async () => {
    const { recorder, lines, clock } = record()
    recorder.follow(createStubSender().sender)
    const at = clock.wallNow()
    expect(await lines()).toEqual([
      {
        at,
        event: 'recording',
        format: 'txlane-recording',
        version: '1.0',
        package: expect.any(String),
        startedAt: at,
      },
      { at, event: 'following', lane: LANE, chainId: 31337, address: LANE.slice(6) },
    ])
  })

  test('contains every event of a sender', async () => {
    const { recorder, lines } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    const ended = new TxlaneError('gone', { code: 'REJECTED', fate: 'notExecuted' })
    const payloads = everyPayload(createStubTx({ wait: () => Promise.reject(ended) }))
    for (const event of eventNames) emit(event, payloads[event] as never)
    const written = (await lines()).slice(2).map(({ event }) => event)
    expect(written.sort()).toEqual([...eventNames].sort())
  })

  test('contains the payload of each event, with its time', async () => {
    const { recorder, lines, clock } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    await clock.advance(5)
    const tx = createStubTx({
      id: 'pay-1',
      stage: 'signed',
      nonce: 7,
      hash: HASH,
      attempts: [attempt(HASH, 30n)],
    })
    emit('signed', { tx })
    emit('foreign', { nonce: 9, hash: OTHER, tx })
    emit('held', { reason: 'starved' })
    emit('leaseLost', { epoch: 4 })
    const base = { at: clock.wallNow(), lane: LANE }
    expect((await lines()).slice(2)).toEqual([
      {
        ...base,
        event: 'signed',
        id: 'pay-1',
        stage: 'signed',
        nonce: 7,
        hash: HASH,
        attempts: [{ nonce: 7, hash: HASH, maxFeePerGas: '30', maxPriorityFeePerGas: '1' }],
      },
      { ...base, event: 'foreign', id: 'pay-1', stage: 'signed', nonce: 9, hash: OTHER },
      { ...base, event: 'held', reason: 'starved' },
      { ...base, event: 'leaseLost', epoch: 4 },
    ])
  })

  test('contains the sentences of holds and endpoints, and the number of lost nonces', async () => {
    const { recorder, lines } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    const endpoint = { name: 'https://node.example', role: 'both', profile: {} } as const
    emit('held', { reason: 'jump', detail: 'latest counts 900, and the lane knows 20' })
    emit('endpoint', { ...endpoint, change: 'doubtful', reason: 'it counts 9 at block 4, whose body has 2' })
    emit('endpoint', { ...endpoint, change: 'failing', said: '502 Bad Gateway' })
    emit('rebound', { tx: createStubTx(), times: 3 })
    expect((await lines()).slice(2)).toMatchObject([
      { event: 'held', reason: 'jump', detail: 'latest counts 900, and the lane knows 20' },
      { event: 'endpoint', change: 'doubtful', reason: 'it counts 9 at block 4, whose body has 2' },
      { event: 'endpoint', change: 'failing', said: '502 Bad Gateway' },
      { event: 'rebound', times: 3 },
    ])
  })

  test('truncates a long sentence', async () => {
    const { recorder, lines } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    emit('held', { reason: 'blocked', detail: 'count 12, '.repeat(100) })
    expect(String((await lines()).at(-1)?.detail)).toHaveLength(401)
  })

  test('contains each attempt once, with the first event after it was signed', async () => {
    const { recorder, lines } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    const attempts = [attempt(HASH, 30n)]
    const tx = createStubTx({ nonce: 7, hash: HASH, attempts })
    emit('signed', { tx })
    emit('accepted', { tx })
    attempts.push(attempt(OTHER, 33n))
    emit('rebroadcast', { tx })
    emit('sealed', { tx })
    const reported = (await lines()).slice(2).map((line) => line.attempts)
    expect(reported).toEqual([
      [expect.objectContaining({ hash: HASH, maxFeePerGas: '30' })],
      undefined,
      [expect.objectContaining({ hash: OTHER, maxFeePerGas: '33' })],
      undefined,
    ])
  })

  test('contains the reason why a transaction ended, with the time of its end', async () => {
    const { recorder, lines, clock } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    const at = clock.wallNow()
    const error = new TxlaneError('No node can include these bytes.', {
      code: 'REJECTED',
      fate: 'notExecuted',
    })
    emit('failed', { tx: createStubTx({ stage: 'failed' }), error })
    expect((await lines()).at(-1)).toEqual({
      at,
      event: 'failed',
      lane: LANE,
      id: 'a',
      stage: 'failed',
      error: {
        name: 'TxlaneError',
        code: 'REJECTED',
        fate: 'notExecuted',
        message: 'No node can include these bytes.',
      },
    })
  })

  test('continues an earlier file, even one that ends in the middle of a line', async () => {
    const { file, recorder } = record({}, createStubFile('{"at":1,"ev'))
    await recorder.flush()
    expect(file.text.startsWith('{"at":1,"ev\n{"at":')).toBe(true)
  })
})

describe('following', () => {
  test('covers each sender of a pool, under its own lane', async () => {
    const { recorder, lines } = record()
    const [one, two] = [createStubSender(), createStubSender('0x00000000000000000000000000000000000000b0')]
    recorder.follow({ ...one.sender, senders: [one.sender, two.sender] } as never)
    two.emit('held', { reason: 'paused' })
    expect((await lines()).map(({ lane }) => lane)).toEqual([
      undefined,
      LANE,
      '31337:0x00000000000000000000000000000000000000b0',
      '31337:0x00000000000000000000000000000000000000b0',
    ])
  })

  test('covers a sender once, however often it is followed, until the last follower is removed', async () => {
    const { recorder, lines } = record()
    const { sender, emit, heard } = createStubSender()
    const offs = [recorder.follow(sender), recorder.follow(sender)]
    emit('held', { reason: 'paused' })
    offs[0]?.()
    offs[0]?.()
    emit('released', { reason: 'paused' })
    offs[1]?.()
    expect(heard()).toBe(false)
    expect((await lines()).slice(2).map(({ event }) => event)).toEqual(['held', 'released'])
  })

  test('refuses a value that is not a sender', () => {
    expect(() => record().recorder.follow({} as never)).toThrow(/Invalid sender/)
  })

  test('stops after close', async () => {
    const { recorder, file } = record()
    const { sender, heard } = createStubSender()
    recorder.follow(sender)
    await recorder.close()
    await recorder.close()
    expect(heard()).toBe(false)
    recorder.follow(sender)
    expect(heard()).toBe(false)
    expect(file.closed).toBe(true)
    expect(parse(file.text).at(-1)?.event).toBe('closed')
  })
})

describe('no secret gets into a recording', () => {
  const KEY = 'f'.repeat(64)

  test.each<[string, keyof SenderEvents, unknown]>([
    [
      'the path of a URL',
      'error',
      { error: new Error('cannot reach https://rpc.example.com/v2/secret-key') },
    ],
    [
      'a password',
      'endpoint',
      { name: 'wss://me:secret-key@node.example/x', role: 'both', change: 'up', profile: {} },
    ],
    ['a token', 'error', { error: new Error('token=secret-key') }],
    ['the detail of a hold', 'held', { reason: 'blocked', detail: 'https://rpc.example.com/v2/secret-key' }],
    [
      'the reason of an endpoint',
      'endpoint',
      {
        name: 'https://node.example',
        role: 'both',
        change: 'rests',
        reason: 'Authorization: Bearer secret-key',
        said: 'password=secret-key',
        profile: {},
      },
    ],
    [
      'calldata that a node repeats',
      'error',
      { error: new Error(`reverted: 0x${'secret-key'.replaceAll(/[^a-f]/g, '')}${KEY}${KEY}`) },
    ],
    ['a cause', 'error', { error: new Error('failed', { cause: new Error('secret-key') }) }],
    ['further lines', 'error', { error: new Error('failed\nrequest body: secret-key') }],
  ])('not %s', async (_, event, payload) => {
    const { recorder, lines, file } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    emit(event, payload as never)
    expect(await lines()).toHaveLength(3)
    expect(file.text).not.toContain('secret-key')
    expect(file.text).not.toContain(KEY)
  })
})

describe('the buffer', () => {
  test('is written after an interval, by the clock, with no timer left while there is nothing to write', async () => {
    const { recorder, clock, file } = record({ flushIntervalMs: 100 })
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    await clock.advance(99)
    expect(file.text).toBe('')
    await clock.advance(1)
    expect(parse(file.text)).toHaveLength(2)
    expect(clock.pendingTimers).toBe(0)
    emit('held', { reason: 'paused' })
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(100)
    expect(parse(file.text)).toHaveLength(3)
  })

  test('is limited: lines without room behind a slow disk are dropped and counted, and the count is written', async () => {
    const { recorder, file, lines } = record({ bufferBytesMax: 2_048 })
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    await lines()
    file.shut = true
    for (let reason = 0; reason < 1_000; reason++) emit('held', { reason: 'paused' })
    const { dropped } = recorder
    expect(dropped).toBeGreaterThan(900)
    file.open()
    await recorder.flush()
    emit('released', { reason: 'paused' })
    const written = await lines()
    const held = written.filter(({ event }) => event === 'held')
    expect(held.length + dropped).toBe(1_000)
    expect(written.slice(-2)).toMatchObject([{ event: 'dropped', count: dropped }, { event: 'released' }])
    expect(recorder.dropped).toBe(dropped)
  })

  test('reports the number of missing lines at the end if no line comes after them', async () => {
    const { recorder, file } = record({ bufferBytesMax: 1_024 })
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    for (let reason = 0; reason < 10; reason++) emit('held', { reason: 'paused' })
    await recorder.close()
    expect(parse(file.text).filter(({ event }) => event === 'dropped')).toHaveLength(1)
  })
})

describe('a failing disk', () => {
  const FULL = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })

  test('is reported once, stops the recording, and affects no other part', async () => {
    const { recorder, file, errors, clock } = record()
    const { sender, emit, heard } = createStubSender()
    recorder.follow(sender)
    file.broken = FULL
    emit('held', { reason: 'paused' })
    await clock.advance(1_000)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({ name: 'TxlaneError', code: 'STORE', details: FULL.message })
    expect(heard()).toBe(false)
    emit('held', { reason: 'paused' })
    file.broken = undefined
    await recorder.close()
    expect(errors).toHaveLength(1)
    expect(file.text).toBe('')
    expect(recorder.dropped).toBeGreaterThanOrEqual(3)
    expect(clock.pendingTimers).toBe(0)
  })

  test('may have an error handler that throws', async () => {
    const { recorder, file, clock } = record({
      onError: () => {
        throw new Error('the listener is broken too')
      },
    })
    file.broken = FULL
    await clock.advance(1_000)
    await expect(recorder.close()).resolves.toBeUndefined()
  })

  test('an unreadable transaction costs one event, and has no other effect', async () => {
    const { recorder, lines } = record()
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    const tx = Object.defineProperty({}, 'id', {
      get() {
        throw new Error('unreadable')
      },
    }) as Tx
    emit('queued', { tx })
    emit('held', { reason: 'paused' })
    expect((await lines()).slice(2)).toMatchObject([{ event: 'dropped', count: 1 }, { event: 'held' }])
  })
})

describe('a file that has reached its maximum size', () => {
  test('is renamed, and the next one begins with its format and the followed lanes', async () => {
    const { recorder, file, lines } = record({ rotateBytes: 1_024 })
    const { sender, emit } = createStubSender()
    recorder.follow(sender)
    for (let round = 0; file.rotated.length === 0 && round < 100; round++) {
      emit('held', { reason: 'paused' })
      await recorder.flush()
    }
    emit('released', { reason: 'paused' })
    expect((await lines()).map(({ event }) => event)).toEqual(['recording', 'following', 'released'])
    expect(parse(file.rotated[0] ?? '').length).toBeGreaterThan(3)
  })
})
