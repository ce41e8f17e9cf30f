import { createClient, custom, type EIP1193RequestFn, RpcRequestError } from 'viem'
import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { classifyReply } from '../classify.js'
import type { RpcFailure, RpcReply } from '../port.js'
import { portsOfClient } from './fromClient.js'

const HASH = `0x${'ab'.repeat(32)}` as const
const SEND = { method: 'eth_sendRawTransaction', params: ['0x02'] }

type Word = { readonly code: number; readonly message: string; readonly data?: unknown }

/** What nodes say, and what the same words mean over HTTP. */
const words: readonly Word[] = [
  { code: -32000, message: 'already known' },
  { code: -32000, message: 'nonce too low: next nonce 5, tx nonce 4' },
  { code: -32000, message: 'replacement transaction underpriced' },
  { code: -32000, message: 'insufficient funds for gas * price + value' },
  { code: -32000, message: 'words that no table has' },
  { code: -32003, message: 'transaction type not supported' },
  { code: -32005, message: 'rate limit exceeded' },
  { code: -32601, message: 'the method eth_getBlockReceipts does not exist/is not available' },
  { code: 3, message: 'execution reverted', data: '0x08c379a0' },
]

/** How libraries and wallets hand on a node's error object. */
const wrappings: Readonly<Record<string, (word: Word) => unknown>> = {
  'the error object itself': (word) => ({ ...word }),
  'an Error with code and message': (word) => Object.assign(new Error(word.message), word),
  "viem's RpcRequestError": (word) =>
    new RpcRequestError({ body: SEND, error: word, url: 'https://node.example/key' }),
  "an ethers error with the node's object in `info`": ({ code, message, data }) =>
    Object.assign(new Error(`could not coalesce error (error={ "message": "${message}" })`), {
      code: 'UNKNOWN_ERROR',
      info: { error: { code, message, data } },
    }),
  'a wallet that wraps it': (word) =>
    Object.assign(new Error('Internal JSON-RPC error.'), { code: -32603, data: { originalError: word } }),
}

async function replyOf(thrown: unknown): Promise<RpcReply> {
  const request = (async () => {
    throw thrown
  }) as EIP1193RequestFn
  const client = createClient({ transport: custom({ request }) })
  const [port] = portsOfClient(client, { clock: createVirtualClock() })
  const [reply] = await port!.batch([SEND])
  return reply!
}

describe("through viem's `custom` transport a node's error means what it means over HTTP", () => {
  test.each(Object.entries(wrappings))('handed on as %s', async (_, wrap) => {
    for (const word of words) {
      const failure: RpcFailure = { kind: 'rpc', code: word.code, message: word.message }
      const reply = await replyOf(wrap(word))
      expect(reply, word.message).toMatchObject({ ok: false, failure })
      if (word.data !== undefined) expect(reply).toMatchObject({ failure: { data: word.data } })
      expect(classifyReply(reply, HASH)).toEqual(
        classifyReply({ ok: false, failure: { ...failure, data: word.data } }, HASH),
      )
    }
  })

  test('bytes that are known already are accepted', async () => {
    const reply = await replyOf({ code: -32000, message: 'already known' })
    expect(classifyReply(reply, HASH)).toMatchObject({ outcome: 'accepted', reason: 'alreadyKnown' })
  })
})

describe('a rejection that carries no JSON-RPC error stays unknown', () => {
  test.each<[string, unknown]>([
    ['words alone', new Error('nonce too low')],
    ['a text', 'already known'],
    ['a code alone', { code: -32000 }],
    ['a system error', Object.assign(new Error('already known'), { code: 'ECONNRESET', errno: -104 })],
    ['a DOMException', new DOMException('nonce too low', 'AbortError')],
    ['a closed socket', { code: 1006, reason: 'already known' }],
    ['a wallet that is disconnected', Object.assign(new Error('already known'), { code: 4900 })],
    [
      'a proxy',
      Object.assign(new Error('x'), { status: 502, error: { code: -32000, message: 'already known' } }),
    ],
    ['nothing', undefined],
  ])('%s', async (_, thrown) => {
    const reply = await replyOf(thrown)
    expect(reply).toMatchObject({ ok: false, failure: { kind: 'custom' } })
    expect(classifyReply(reply, HASH).outcome).toBe('unknown')
  })
})

test('no secret of a URL gets into the words', async () => {
  const reply = await replyOf({
    code: -32000,
    message: 'bad answer of https://node.example/v2/secretsecretsecret',
  })
  expect(reply).toMatchObject({ failure: { kind: 'rpc', message: 'bad answer of https://node.example' } })
})
