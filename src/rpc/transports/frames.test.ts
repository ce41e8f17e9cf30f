import { describe, expect, test } from 'vitest'
import { createFrames } from './frames.js'

const frame = (...items: object[]) => JSON.stringify(items.length === 1 ? items[0] : items)
const now = <T>(promise: Promise<T>) => Promise.race([promise, Promise.resolve().then(() => 'open' as const)])

describe('frames on a socket', () => {
  test('answer the batch that their ids belong to, in whatever order the batches are answered', async () => {
    const frames = createFrames(1_000)
    const [first, second] = [frames.expect(10, 2), frames.expect(12, 1)]
    frames.receive(frame({ id: 12, result: 'c' }))
    frames.receive(frame({ id: 11, result: 'b' }, { id: 10, result: 'a' }))
    expect(await first).toEqual([
      { ok: true, result: 'a' },
      { ok: true, result: 'b' },
    ])
    expect(await second).toEqual([{ ok: true, result: 'c' }])
  })

  test('may answer each call of a batch by itself', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 2)
    frames.receive(frame({ id: 11, result: 'b' }))
    expect(await now(replies)).toBe('open')
    frames.receive(frame({ id: 10, error: { code: 1, message: 'no' } }))
    expect(await replies).toEqual([
      { ok: false, failure: { kind: 'rpc', code: 1, message: 'no' } },
      { ok: true, result: 'b' },
    ])
  })

  test('that answer a batch in part leave the other calls without an answer', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 2)
    frames.receive(JSON.stringify([{ id: 11, result: 'b' }]))
    expect(await replies).toMatchObject([{ failure: { kind: 'malformed' } }, { ok: true, result: 'b' }])
  })

  test('of others are passed over', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 1)
    frames.receive('not JSON')
    frames.receive(new ArrayBuffer(2))
    frames.receive(frame({ method: 'eth_subscription', params: { subscription: '0x1', result: {} } }))
    frames.receive(frame({ id: 3, result: 'viem’s own' }))
    frames.receive(frame({ id: null, result: 'the answer to a ping' }))
    expect(await now(replies)).toBe('open')
  })

  test('with one error and no id refuse the only open batch, and none of several', async () => {
    const frames = createFrames(1_000)
    const refusal = frame({ id: null, error: { code: -32600, message: 'batch too large' } })
    const [first, second] = [frames.expect(10, 2), frames.expect(12, 2)]
    frames.receive(refusal)
    expect(await now(first)).toBe('open')
    frames.forget(12)
    frames.receive(refusal)
    expect(await first).toMatchObject([
      { failure: { kind: 'malformed', ofBatch: { code: -32600 } } },
      { ok: false },
    ])
    expect(await now(second)).toBe('open')
  })

  test('that are too large are not read, and leave every open call without an answer', async () => {
    const frames = createFrames(1_000)
    const [first, second] = [frames.expect(10, 1), frames.expect(12, 2)]
    frames.receive(frame({ id: 12, result: 'c' }))
    frames.receive(frame({ id: 10, result: 'x'.repeat(1_000) }))
    const cut = { ok: false, failure: { kind: 'malformed', cut: true } }
    expect(await first).toMatchObject([cut])
    expect(await second).toMatchObject([{ ok: true, result: 'c' }, cut])
  })

  test('that never come leave what was answered answered when the socket fails', async () => {
    const frames = createFrames(1_000)
    const replies = frames.expect(10, 2)
    frames.receive(frame({ id: 11, result: 'b' }))
    frames.fail({ kind: 'network', message: 'closed' })
    expect(await replies).toEqual([
      { ok: false, failure: { kind: 'network', message: 'closed' } },
      { ok: true, result: 'b' },
    ])
  })
})
