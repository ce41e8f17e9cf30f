import { describe, expect, test } from 'vitest'
import { createStubPort, type StubAnswer } from '../../test/contract/stubPort.js'
import { batchReads, isBatchRefused } from './batchReads.js'
import type { RpcCall, RpcReply } from './port.js'
import type { BatchRefusal } from './ports/envelope.js'
import { createProfile } from './profile.js'

const calls: RpcCall[] = Array.from({ length: 5 }, (_, index) => ({ method: 'eth_getCode', params: [index] }))
const own = (batch: readonly RpcCall[]): StubAnswer[] => batch.map(({ params }) => ({ result: params[0] }))
const results = (replies: readonly RpcReply[]) =>
  replies.map((reply) => (reply.ok ? reply.result : reply.failure.kind))
const refusal = (code: number, message: string): BatchRefusal => ({
  kind: 'malformed',
  message: `the batch was answered with one error: ${message}`,
  ofBatch: { code, message },
})

const CUT = { kind: 'malformed', message: 'too large', cut: true } as const

describe('reads in one request', () => {
  test('are split where the endpoint refuses the batch, and the size is remembered', async () => {
    const profile = createProfile()
    const port = createStubPort((batch) =>
      batch.length > 2
        ? batch.map(() => ({ failure: refusal(-32600, 'batch limit 2 exceeded') }))
        : own(batch),
    )
    expect(results(await batchReads(port, calls, { profile }))).toEqual([0, 1, 2, 3, 4])
    expect(port.batches.map((batch) => batch.length)).toEqual([5, 2, 2, 1])
    expect(profile.current().batch).toEqual({ usable: true, sizeMax: 2 })
    await batchReads(port, calls, { profile })
    expect(port.batches.map((batch) => batch.length)).toEqual([5, 2, 2, 1, 2, 2, 1])
  })

  test('go one by one where there is no batching at all', async () => {
    const profile = createProfile()
    const port = createStubPort((batch) =>
      batch.length > 1
        ? batch.map(() => ({ failure: { kind: 'http', status: 400, message: 'HTTP 400' } as const }))
        : own(batch),
    )
    expect(results(await batchReads(port, calls, { profile }))).toEqual([0, 1, 2, 3, 4])
    expect(profile.current().batch.usable).toBe(false)
  })

  test('are not asked again for a rate limit, a timeout or a server error', async () => {
    const failures = [
      refusal(-32005, 'rate limit exceeded'),
      { kind: 'timeout', message: '' },
      { kind: 'http', status: 503, message: '' },
      { kind: 'http', status: 429, message: '' },
    ] as const
    for (const failure of failures) {
      const profile = createProfile()
      const port = createStubPort((batch) => batch.map(() => ({ failure })))
      expect(results(await batchReads(port, calls, { profile }))).toEqual(calls.map(() => failure.kind))
      expect(port.batches).toHaveLength(1)
      expect(profile.current().batch.sizeMax).toBeUndefined()
    }
  })

  test('are read in halves where the answer was too large, which says nothing of the size of batches', async () => {
    const profile = createProfile()
    const port = createStubPort((batch) =>
      batch.length > 2 ? batch.map(() => ({ failure: CUT })) : own(batch),
    )
    expect(results(await batchReads(port, calls, { profile }))).toEqual([0, 1, 2, 3, 4])
    expect(port.batches.map((batch) => batch.length)).toEqual([5, 2, 2, 1])
    expect(profile.current().batch.sizeMax).not.toBe(2)
  })

  test('are given up where one answer alone is too large: an endless one is read a few times, not once a call', async () => {
    const many = Array.from({ length: 500 }, (_, index) => ({ method: 'eth_getCode', params: [index] }))
    const port = createStubPort((batch) => batch.map(() => ({ failure: CUT })))
    const replies = await batchReads(port, many)
    expect(results(replies)).toEqual(many.map(() => 'malformed'))
    expect(port.batches.length).toBeLessThanOrEqual(10)
  })

  test('that were answered before one answer was too large stay answered', async () => {
    const port = createStubPort((batch) =>
      batch.some(({ params }) => params[0] === 3) ? batch.map(() => ({ failure: CUT })) : own(batch),
    )
    expect(results(await batchReads(port, calls))).toEqual([0, 1, 2, 'malformed', 'malformed'])
  })

  test('know geth’s word for a batch that is too large: an error for the first call, nothing for the others', () => {
    const first: RpcReply = { ok: false, failure: { kind: 'rpc', code: -32600, message: 'batch too large' } }
    const missing: RpcReply = { ok: false, failure: { kind: 'malformed', message: 'no part' } }
    expect(isBatchRefused([first, missing, missing])).toBe(true)
    expect(isBatchRefused([first, missing, { ok: true, result: 1 }])).toBe(false)
    expect(isBatchRefused([first])).toBe(false)
  })
})
