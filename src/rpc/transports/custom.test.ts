import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { type CustomRequest, createCustomPort } from './custom.js'

const setUp = (request: CustomRequest) => {
  const clock = createVirtualClock()
  return { clock, port: createCustomPort({ request, name: 'custom', clock, timeoutMs: 100 }) }
}
const calls = ['a', 'b', 'c'].map((method) => ({ method, params: [] }))

describe('the port over a custom transport', () => {
  test('starts the calls of a batch in order and answers by position, with retries off', async () => {
    const asked: unknown[] = []
    const { port } = setUp(async ({ method }, options) => {
      asked.push([method, options])
      return method
    })
    expect(await port.batch(calls)).toEqual(calls.map(({ method }) => ({ ok: true, result: method })))
    expect(asked).toEqual(calls.map(({ method }) => [method, { retryCount: 0 }]))
  })

  test('takes a rejection without a JSON-RPC code for unknown, whatever it says', async () => {
    const cause = new Error('nonce too low at https://node.example/key')
    const { port } = setUp(async ({ method }) => {
      if (method === 'b') throw cause
      return method
    })
    expect(await port.batch(calls)).toEqual([
      { ok: true, result: 'a' },
      { ok: false, failure: { kind: 'custom', message: 'nonce too low at https://node.example', cause } },
      { ok: true, result: 'c' },
    ])
  })

  test('keeps what was answered in time', async () => {
    const { port, clock } = setUp(async ({ method }) => (method === 'b' ? new Promise(() => {}) : method))
    const replies = port.batch(calls)
    await clock.advance(100)
    expect(await replies).toMatchObject([{ result: 'a' }, { failure: { kind: 'timeout' } }, { result: 'c' }])
  })

  test('asks nothing once it is closed', async () => {
    const asked: unknown[] = []
    const { port } = setUp(async (args) => asked.push(args))
    port.close()
    expect(await port.batch(calls)).toMatchObject(calls.map(() => ({ failure: { kind: 'aborted' } })))
    expect(asked).toEqual([])
  })
})
