import { describe, expect, test } from 'vitest'
import { createStubPort, type StubAnswer } from '../../test/contract/stubPort.js'
import type { BatchRefusal } from './envelope.js'
import { limitBatches } from './limitBatches.js'
import type { RpcCall, RpcFailure, RpcReply } from './port.js'
import { profileOf } from './profile.js'

const callsOf = (count: number): RpcCall[] =>
  Array.from({ length: count }, (_, index) => ({ method: 'eth_getCode', params: [index] }))
const own = (batch: readonly RpcCall[]): StubAnswer[] => batch.map(({ params }) => ({ result: params[0] }))
const results = (replies: readonly RpcReply[]) =>
  replies.map((reply) => (reply.ok ? reply.result : reply.failure.kind))
const all = (batch: readonly RpcCall[], failure: RpcFailure): StubAnswer[] => batch.map(() => ({ failure }))
const one = (code: number, message: string): BatchRefusal => ({
  kind: 'malformed',
  message: `the batch was answered with one error: ${message}`,
  ofBatch: { code, message },
})

const NO_PART: RpcFailure = { kind: 'malformed', message: 'no answer has the id of this call' }
const CUT: RpcFailure = { kind: 'malformed', message: 'too large', cut: true }
const rpc = (code: number, message: string): RpcFailure => ({ kind: 'rpc', code, message })
const http = (status: number, message = `HTTP ${status}`): RpcFailure => ({ kind: 'http', status, message })

/** The ways in which endpoints refuse a batch that is too large for them. */
const refusals: Readonly<Record<string, (batch: readonly RpcCall[], limit: number) => StubAnswer[]>> = {
  'HTTP 413': (batch) => all(batch, http(413)),
  'HTTP 400': (batch) => all(batch, http(400)),
  'HTTP 500': (batch) => all(batch, http(500)),
  'HTTP 403 in words': (batch) => all(batch, http(403, 'HTTP 403: batch requests are not allowed')),
  'HTTP 429 in words': (batch) => all(batch, http(429, 'HTTP 429: batch size too large')),
  ...Object.fromEntries(
    [301, 403, 404, 405, 408, 414, 431].map((status) => [
      `HTTP ${status}`,
      (batch: readonly RpcCall[]) => all(batch, http(status)),
    ]),
  ),
  'HTTP 500 with an error object': (batch) =>
    all(batch, {
      ...http(500),
      rpc: { code: -32000, message: 'something' },
    } as RpcFailure),
  'a page in place of JSON': (batch) => all(batch, { kind: 'malformed', message: 'a body that is not JSON' }),
  'a closed socket': (batch) => all(batch, { kind: 'network', message: 'socket hang up' }),
  'one error object, -32600': (batch) => all(batch, one(-32600, 'batch too large')),
  'one error object, -32005': (batch) => all(batch, one(-32005, 'batch limit exceeded')),
  'one error object in strange words': (batch) => all(batch, one(-32000, 'no')),
  'an error object for each': (batch) => all(batch, rpc(-32005, 'too many requests in one batch')),
  'an error object for each, in strange words': (batch) => all(batch, rpc(-32000, 'maximum of 3 items')),
  'an error object for each, of some limit': (batch) => all(batch, rpc(-32005, 'limit exceeded')),
  'one error object, of some limit': (batch) => all(batch, one(-32005, 'limit exceeded')),
  'an error in strange words for the first, nothing for the others': (batch) =>
    batch.map((_, index) => ({ failure: index === 0 ? rpc(-32000, 'maximum of 3 items') : NO_PART })),
  "geth's: an error for the first, nothing for the others": (batch) =>
    batch.map((_, index) => ({ failure: index === 0 ? rpc(-32600, 'batch too large') : NO_PART })),
  'an answer that breaks off': (batch, limit) =>
    own(batch).map((answer, index) => (index < limit ? answer : { failure: NO_PART })),
  "geth's: an answer that would be too large": (batch, limit) =>
    own(batch).map((answer, index) =>
      index < limit ? answer : { failure: rpc(-32003, 'response too large') },
    ),
}

describe('an endpoint that accepts only small batches', () => {
  const limits = Array.from({ length: 10 }, (_, index) => index + 1)

  test.each(Object.entries(refusals))('answers every call if it refuses with %s', async (_, refuse) => {
    for (const limit of limits) {
      const plain = createStubPort((batch) => (batch.length > limit ? refuse(batch, limit) : own(batch)))
      const port = limitBatches(plain)
      const calls = callsOf(25)
      expect(results(await port.batch(calls)), `limit ${limit}`).toEqual(calls.map((_, index) => index))
      // At most the sizes on the way down, the probes between them, and the calls in parts of half the limit.
      expect(plain.batches.length, `limit ${limit}`).toBeLessThanOrEqual(
        2 * 5 + 2 * Math.ceil(25 / limit) + 2,
      )
    }
  })

  test.each(Object.entries(refusals))('gets batches of fitting sizes from then on: %s', async (_, refuse) => {
    for (const limit of [1, 2, 3, 7, 10]) {
      let refused = 0
      const plain = createStubPort((batch) => {
        if (batch.length <= limit) return own(batch)
        refused++
        return refuse(batch, limit)
      })
      const port = limitBatches(plain)
      for (let round = 0; round < 60; round++) await port.batch(callsOf(20))
      // Each size is given up after at most three truncated answers, and twice the size is tried from time to
      // time.
      expect(refused, `limit ${limit}`).toBeLessThanOrEqual(24)
    }
  })

  test('gets larger batches again once it accepts them', async () => {
    let limit = 2
    const plain = createStubPort((batch) =>
      batch.length > limit ? all(batch, one(-32600, 'batch too large')) : own(batch),
    )
    const port = limitBatches(plain)
    await port.batch(callsOf(16))
    limit = 100
    for (let round = 0; round < 40; round++) await port.batch(callsOf(16))
    const before = plain.batches.length
    await port.batch(callsOf(16))
    expect(plain.batches.length - before).toBe(1)
  })
})

describe('a batch without an answer', () => {
  test('ends after one single call if the endpoint is down, and the next batch begins with a single call', async () => {
    for (const failure of [
      http(503),
      http(500),
      { kind: 'network', message: 'ECONNREFUSED' } as const,
      NO_PART,
    ]) {
      const plain = createStubPort((batch) => all(batch, failure))
      const port = limitBatches(plain)
      for (let round = 0; round < 5; round++)
        expect(results(await port.batch(callsOf(10)))).toEqual(callsOf(10).map(() => failure.kind))
      expect(plain.batches.map(({ length }) => length)).toEqual([10, 1, 1, 1, 1, 1])
      expect(profileOf(port).current().batch.sizeMax).toBeUndefined()
    }
  })

  test('costs two requests once the endpoint is back', async () => {
    let away = true
    const plain = createStubPort((batch) => (away ? all(batch, http(503)) : own(batch)))
    const port = limitBatches(plain)
    await port.batch(callsOf(10))
    away = false
    await port.batch(callsOf(10))
    await port.batch(callsOf(10))
    expect(plain.batches.map(({ length }) => length)).toEqual([10, 1, 1, 9, 10])
  })

  test('proves nothing about its size if that size was answered before', async () => {
    const plain = createStubPort((batch, number) =>
      number === 2 ? all(batch, { kind: 'network', message: 'reset' }) : own(batch),
    )
    const port = limitBatches(plain)
    for (let round = 0; round < 3; round++) await port.batch(callsOf(10))
    expect(profileOf(port).current().batch.sizeMax).toBeUndefined()
    expect(plain.batches.at(-1)).toHaveLength(10)
  })

  test('is to blame if each batch closes the socket and a single call finds it closed', async () => {
    // A WebSocket takes a while to reopen, so a request made directly after the close fails as well.
    const limit = 3
    let isOpen = true
    const plain = createStubPort((batch) => {
      if (isOpen && batch.length <= limit) return own(batch)
      isOpen = false
      return all(batch, { kind: 'network', message: 'the socket is closed' })
    })
    const port = limitBatches(plain)
    let replies: readonly RpcReply[] = []
    for (let round = 0; round < 8 && replies.at(-1)?.ok !== true; round++) {
      isOpen = true
      replies = await port.batch(callsOf(10))
    }
    expect(results(replies)).toEqual(callsOf(10).map((_, index) => index))
  })
})

describe('a call without an answer in an answered batch', () => {
  test('is repeated alone', async () => {
    for (const lacking of [0, 4, 9]) {
      const plain = createStubPort((batch, number) =>
        own(batch).map((answer, index) =>
          number === 1 && index === lacking ? { failure: NO_PART } : answer,
        ),
      )
      const port = limitBatches(plain)
      expect(results(await port.batch(callsOf(10)))).toEqual(callsOf(10).map((_, index) => index))
      expect(plain.batches.slice(1)).toEqual([[callsOf(10)[lacking]]])
    }
  })

  test('keeps its result if it never gets an answer, and the others are answered', async () => {
    const plain = createStubPort((batch) =>
      own(batch).map((answer, index) => (batch[index]?.params[0] === 4 ? { failure: NO_PART } : answer)),
    )
    const replies = await limitBatches(plain).batch(callsOf(10))
    expect(results(replies)).toEqual([0, 1, 2, 3, 'malformed', 5, 6, 7, 8, 9])
    expect(plain.batches.length).toBeLessThanOrEqual(10)
  })

  test('is not repeated if the node refused it explicitly', async () => {
    const plain = createStubPort((batch) =>
      batch.map((_, index) => (index === 0 ? { failure: rpc(-32000, 'nonce too low') } : { result: 1 })),
    )
    const replies = await limitBatches(plain).batch(callsOf(3))
    expect(results(replies)).toEqual(['rpc', 1, 1])
    expect(plain.batches).toHaveLength(1)
  })
})

describe('calls that all get the same error', () => {
  const SAME = rpc(-32000, 'transaction indexing is in progress')

  test('keep it if a single call gets it too, after one more request', async () => {
    for (const failure of [SAME, rpc(-32005, 'limit exceeded'), http(403)]) {
      const plain = createStubPort((batch) => all(batch, failure))
      const port = limitBatches(plain)
      expect(await port.batch(callsOf(5))).toEqual(callsOf(5).map(() => ({ ok: false, failure })))
      expect(plain.batches.map(({ length }) => length)).toEqual([5, 1])
      expect(profileOf(port).current().batch.sizeMax).toBeUndefined()
    }
  })

  test('keep it if some of them had no answer at all', async () => {
    const plain = createStubPort((batch) =>
      batch.map((_, index) => ({ failure: index === 1 ? NO_PART : SAME })),
    )
    expect(results(await limitBatches(plain).batch(callsOf(5)))).toEqual(callsOf(5).map(() => 'rpc'))
    expect(plain.batches.length).toBeLessThanOrEqual(3)
  })

  test('are not repeated if the errors differ', async () => {
    const plain = createStubPort((batch) =>
      batch.map((_, index) => ({ failure: rpc(-32000, `no ${index}`) })),
    )
    await limitBatches(plain).batch(callsOf(5))
    expect(plain.batches).toHaveLength(1)
  })
})

test('a rate limit or a timeout ends the batch after one request', async () => {
  const failures: readonly RpcFailure[] = [
    one(-32005, 'rate limit exceeded'),
    http(429),
    rpc(-32016, 'over rate limit'),
    { kind: 'timeout', message: 'no answer within 10000 ms' },
    { kind: 'aborted', message: 'given up' },
  ]
  for (const failure of failures) {
    const plain = createStubPort((batch) => all(batch, failure))
    const port = limitBatches(plain)
    expect(results(await port.batch(callsOf(5)))).toEqual(callsOf(5).map(() => failure.kind))
    expect(plain.batches).toHaveLength(1)
    expect(profileOf(port).current().batch.sizeMax).toBeUndefined()
  }
})

test('an endpoint that counts calls, and refuses every batch above its rate, gets smaller batches', async () => {
  const plain = createStubPort((batch) =>
    batch.length > 5 ? all(batch, one(-32005, 'rate limit exceeded')) : own(batch),
  )
  const port = limitBatches(plain)
  let answered = false
  for (let round = 0; round < 10 && !answered; round++)
    answered = (await port.batch(callsOf(40))).every(({ ok }) => ok)
  expect(answered).toBe(true)
})

test('batches that were in flight together and hit a rate limit count as one observation', async () => {
  const plain = createStubPort((batch) => all(batch, one(-32005, 'rate limit exceeded')))
  const port = limitBatches(plain)
  await Promise.all(Array.from({ length: 5 }, () => port.batch(callsOf(8))))
  expect(plain.batches).toHaveLength(5)
  expect(profileOf(port).current().batch.sizeMax).toBeUndefined()
  for (let round = 0; round < 2; round++) await port.batch(callsOf(8))
  expect(profileOf(port).current().batch.sizeMax).toBe(4)
})

test('no batch is larger than the given limit, and a limit of the user is never exceeded', async () => {
  for (const batchMax of [1, 3, 10]) {
    const plain = createStubPort(own)
    const port = limitBatches(plain, batchMax)
    for (let round = 0; round < 100; round++) await port.batch(callsOf(25))
    expect(Math.max(...plain.batches.map(({ length }) => length))).toBe(batchMax)
    expect(plain.batches).toHaveLength(100 * Math.ceil(25 / batchMax))
  }
})

test('calls are posted in order', async () => {
  const plain = createStubPort((batch) => (batch.length > 2 ? all(batch, http(413)) : own(batch)))
  await limitBatches(plain).batch(callsOf(5))
  const posted = plain.batches.map((batch) => batch.map(({ params }) => params[0]))
  expect(posted).toEqual([[0, 1, 2, 3, 4], [0, 1], [2, 3], [4]])
})

test('a limited port is not limited twice', () => {
  const port = limitBatches(createStubPort(own), 3)
  expect(limitBatches(port, 100)).toBe(port)
})

describe('answers above the size limit', () => {
  test('are read in halves, which proves nothing about the size of batches', async () => {
    const plain = createStubPort((batch) => (batch.length > 2 ? all(batch, CUT) : own(batch)))
    const port = limitBatches(plain)
    expect(results(await port.batch(callsOf(5)))).toEqual([0, 1, 2, 3, 4])
    expect(plain.batches.map((batch) => batch.length)).toEqual([5, 2, 2, 1])
    expect(profileOf(port).current().batch.sizeMax).toBeUndefined()
  })

  test('are given up if a single one is too large: an endless answer is read a few times, not once per call', async () => {
    const plain = createStubPort((batch) => all(batch, CUT))
    expect(results(await limitBatches(plain).batch(callsOf(500)))).toEqual(
      callsOf(500).map(() => 'malformed'),
    )
    expect(plain.batches.length).toBeLessThanOrEqual(10)
  })

  test('do not affect the answers received before', async () => {
    const plain = createStubPort((batch) =>
      batch.some(({ params }) => params[0] === 3) ? all(batch, CUT) : own(batch),
    )
    expect(results(await limitBatches(plain).batch(callsOf(5)))).toEqual([0, 1, 2, 'malformed', 'malformed'])
  })
})
