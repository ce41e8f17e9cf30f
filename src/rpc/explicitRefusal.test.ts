import { describe, expect, test } from 'vitest'
import { classifyReply } from './classify.js'
import { isExplicit, isExplicitRefusal } from './explicitRefusal.js'
import type { SendOutcome } from './outcome.js'
import type { RpcFailure, RpcReply } from './port.js'

const UNLISTED = 'the moon is in the wrong house'
const saidBy = (message: string, code = -32_000) => isExplicit({ kind: 'rpc', code, message })

describe('a message of a node that is not in the table', () => {
  test.each([
    'header not found',
    'block not found: latest',
    'unknown block',
    'missing trie node 0ab1 (path 0c) state 0x9f is not available, not found',
    'historical state 0x9f is not available',
    'state at block #19 is pruned or not available',
    'transaction indexing is in progress',
    'leveldb: closed',
    'pebble: closed',
    'http: Server closed',
    'EOF',
    'unexpected EOF',
    'write tcp 10.0.0.7:41312->10.0.0.9:8545: write: broken pipe',
    'read ECONNRESET',
    'socket hang up',
    'dial tcp: lookup geth-2 on 10.0.0.2:53: no such host',
    'dial tcp 10.0.0.9:8545: connect: connection refused',
    'no backend is currently healthy to serve traffic',
    'context deadline exceeded',
    'execution timeout',
    'the server is overloaded',
    'node is shutting down',
    'consensus client not connected',
    'Something went wrong',
  ])('"%s" is about the endpoint: it may accept the same bytes a moment later', (message) => {
    expect(saidBy(message)).toBe(false)
  })

  test.each([
    'the moon is in the wrong house',
    'Transaction requires at least 21064 gas but got 21000',
    'sender is on the deny list',
    'tx type not supported',
    'point is not on curve',
    'max code size exceeded',
    'return data out of bounds',
  ])('"%s" is about the bytes', (message) => {
    expect(saidBy(message)).toBe(true)
  })

  test.each([4, 5, 429, -32_601, -32_603, -32_005, -32_007, -32_012, -32_016, -32_090])(
    'with the code %i is about the endpoint, whatever its text is',
    (code) => {
      expect(saidBy(UNLISTED, code)).toBe(false)
    },
  )

  test.each(['', '   ', '\n'])('is about neither if it is blank: %j', (message) => {
    expect(saidBy(message)).toBe(false)
  })

  test.each([`execution reverted: ${UNLISTED}`, `VM Exception while processing transaction: ${UNLISTED}`])(
    '"%s" comes from a contract',
    (message) => {
      expect(saidBy(message)).toBe(false)
    },
  )
})

describe('an HTTP error', () => {
  const rpc = { code: -32_000, message: UNLISTED }

  test.each([
    [400, true],
    [499, true],
    [500, false],
    [502, false],
  ])('with the status %i and a JSON-RPC error is about the bytes: %s', (status, isWord) => {
    expect(isExplicit({ kind: 'http', status, message: `HTTP ${status}`, rpc })).toBe(isWord)
  })

  test('without a JSON-RPC error comes from a proxy', () => {
    expect(isExplicit({ kind: 'http', status: 400, message: UNLISTED })).toBe(false)
  })
})

describe('a reply to a send', () => {
  const HASH = `0x${'ab'.repeat(32)}` as const
  const refused = (failure: RpcFailure): RpcReply => ({ ok: false, failure })
  const unlisted = refused({ kind: 'rpc', code: -32_000, message: UNLISTED })
  const isRefusal = (reply: RpcReply) => isExplicitRefusal(reply, classifyReply(reply, HASH))

  test('is an explicit refusal of the node if the table does not contain its message', () => {
    expect(isRefusal(unlisted)).toBe(true)
  })

  const OTHERS: readonly (readonly [string, RpcReply])[] = [
    ['words of the table', refused({ kind: 'rpc', code: -32_000, message: 'nonce too low' })],
    ['the hash', { ok: true, result: HASH }],
    ['a result that is no hash', { ok: true, result: UNLISTED }],
    ['words about the endpoint', refused({ kind: 'rpc', code: -32_000, message: 'the node is busy' })],
    ['a timeout', refused({ kind: 'timeout', message: UNLISTED })],
    ['a connection that failed', refused({ kind: 'network', message: UNLISTED })],
    ['an answer that is malformed', refused({ kind: 'malformed', message: UNLISTED })],
    ['a request that was given up', refused({ kind: 'aborted', message: UNLISTED })],
    ['an error of a custom transport', refused({ kind: 'custom', message: UNLISTED, cause: UNLISTED })],
  ]

  test.each(OTHERS)('is no explicit refusal with %s', (_, reply) => {
    expect(isRefusal(reply)).toBe(false)
  })

  const outcomes: readonly SendOutcome[] = [
    { outcome: 'accepted', reason: 'unknown', counted: false },
    { outcome: 'refused', reason: 'unknown', counted: false },
    { outcome: 'unknown', reason: 'methodMissing', counted: false },
    { outcome: 'unknown', reason: 'gasLimit', counted: false },
  ]

  test.each(outcomes)('is no explicit refusal if its meaning is known: $outcome, $reason', (outcome) => {
    expect(isExplicitRefusal(unlisted, outcome)).toBe(false)
  })

  test('is no explicit refusal if it is missing', () => {
    expect(isExplicitRefusal(undefined, { outcome: 'unknown', reason: 'unknown', counted: false })).toBe(
      false,
    )
  })
})
