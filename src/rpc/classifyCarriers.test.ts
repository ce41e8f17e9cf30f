import { describe, expect, it } from 'vitest'
import { classifySendError } from './classify.js'
import { ALL } from './corpus/index.fixture.js'

describe("a message that is not the node's", () => {
  const words = ALL.flatMap(({ said }) => Object.values(said).flat())
  const CARRIERS: readonly (readonly [string, (message: string) => object])[] = [
    ['a timeout', (message) => ({ kind: 'timeout', message })],
    ['a connection that failed', (message) => ({ kind: 'network', message })],
    ['an answer that is malformed', (message) => ({ kind: 'malformed', message })],
    [
      'an error for a whole batch',
      (message) => ({ kind: 'malformed', message, ofBatch: { code: -32000, message } }),
    ],
    ['a request that was given up', (message) => ({ kind: 'aborted', message })],
    ['an HTTP error of a proxy', (message) => ({ kind: 'http', status: 403, message })],
    ['HTTP 404 with a page', (message) => ({ kind: 'http', status: 404, message })],
    ['HTTP 502', (message) => ({ kind: 'http', status: 502, message, rpc: { code: -32000, message } })],
  ]

  it.each(CARRIERS)('is not believed inside %s: the outcome stays unknown', (_, carry) => {
    for (const { message } of words) {
      const { outcome, counted } = classifySendError(carry(message))
      expect({ message, outcome, counted }).toEqual({ message, outcome: 'unknown', counted: false })
    }
  })

  it("an HTTP error with a JSON-RPC error carries the node's message", () => {
    const failure = {
      kind: 'http',
      status: 400,
      message: 'HTTP 400',
      rpc: { code: -32000, message: 'nonce too low' },
    }
    expect(classifySendError(failure)).toMatchObject({ outcome: 'refused', reason: 'nonceTooLow' })
  })
})
