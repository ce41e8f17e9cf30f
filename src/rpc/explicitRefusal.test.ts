import { describe, expect, test } from 'vitest'
import { isExplicit } from './explicitRefusal.js'

const saidBy = (message: string, code = -32_000) => isExplicit({ kind: 'rpc', code, message })

describe('words of a node that the table of messages does not have', () => {
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
  ])('"%s" is about the endpoint: the same bytes may be taken a moment later', (message) => {
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

  test('whatever the words: a code of JSON-RPC for the endpoint itself is about the endpoint', () => {
    expect(
      [-32_603, -32_601, -32_005, 429].map((code) => saidBy('the moon is in the wrong house', code)),
    ).toEqual([false, false, false, false])
  })
})
