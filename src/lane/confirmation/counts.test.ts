import { expect, test } from 'vitest'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { countsElsewhere } from './counts.js'
import { ADDRESS } from './scriptedLane.fixture.js'

const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }
const REFUSED: RpcReply = { ok: false, failure: { kind: 'rpc', code: -32000, message: 'missing trie node' } }

test('asks each other endpoint for its latest count, and omits endpoints that do not answer', async () => {
  const asked: { calls: readonly RpcCall[]; timeoutMs: number | undefined }[] = []
  const replies: (RpcReply | undefined)[] = [{ ok: true, result: '0x5' }, SILENT, REFUSED, undefined]
  const ports = replies.map((reply) => ({
    port: {
      async batch(calls: readonly RpcCall[], options?: { timeoutMs?: number }) {
        asked.push({ calls, timeoutMs: options?.timeoutMs })
        return reply === undefined ? [] : [reply]
      },
    },
  }))
  const endpointPool = { others: () => ports } as unknown as Parameters<typeof countsElsewhere>[0]
  expect(await countsElsewhere(endpointPool, ADDRESS, 700)).toEqual([5])
  const call = { method: 'eth_getTransactionCount', params: [ADDRESS, 'latest'] }
  expect(asked).toEqual(replies.map(() => ({ calls: [call], timeoutMs: 700 })))
})
