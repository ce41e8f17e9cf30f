import { createClient, fallback, http, publicActions } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/platform/clock.js'
import { getBlockByNumber } from '../../src/rpc/methods/getBlockByNumber.js'
import { getBlockReceipts } from '../../src/rpc/methods/getBlockReceipts.js'
import { readLane } from '../../src/rpc/methods/readLane.js'
import { getCode, getStorageAt, getTransactionCount } from '../../src/rpc/methods/state.js'
import type { Port } from '../../src/rpc/port.js'
import { probeEndpoint } from '../../src/rpc/probe.js'
import { profileOf } from '../../src/rpc/profile.js'
import { createHttpPort } from '../../src/rpc/transports/http.js'
import { chainReads } from '../../src/viem/chainReads.js'
import { startDevnet } from '../../tools/devnet/index.js'
import {
  answering,
  results,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from './scriptedServer.js'
import { hashOf, rawBlock } from './stubPort.js'

const address = '0x1111111111111111111111111111111111111111'
const good = {
  eth_getBlockByNumber: rawBlock(),
  eth_getBlockReceipts: [],
  eth_getStorageAt: hashOf('0'),
  eth_getTransactionCount: '0x5',
  eth_getCode: '0x',
  eth_chainId: '0x1',
}

/** The block that the call names by its number; block 0 must not be confused with another. */
const numbered = ({ calls }: Parameters<Script>[0]) =>
  rawBlock(calls[0]?.params?.[0] === '0x0' ? { number: '0x0' } : {})

const reads = {
  eth_getBlockByNumber: (port: Port) => getBlockByNumber(port, { block: 'pending' }),
  eth_getBlockReceipts: (port: Port) => getBlockReceipts(port, { block: 'pending' }),
  eth_getStorageAt: (port: Port) => getStorageAt(port, { address, slot: 5n, block: 'pending' }),
  eth_getTransactionCount: (port: Port) => getTransactionCount(port, { address, block: 'pending' }),
  eth_getCode: (port: Port) => getCode(port, { address, block: 'pending' }),
}

let server: ScriptedServer
let port: Port
beforeEach(async () => {
  server = await startScriptedServer(results(good))
  port = createHttpPort({ url: server.url, clock: systemClock })
})
afterEach(async () => {
  port.close()
  await server.close()
})

const text =
  (body: string, contentType = 'application/json'): Script =>
  () => ({
    headers: { 'content-type': contentType },
    body,
  })
/** Answers that no read can interpret, and the kind of the resulting failure. */
const broken: Record<string, [Script, string]> = {
  HTML: [text('<html>502 Bad Gateway</html>', 'text/html'), 'malformed'],
  'an empty body': [text(''), 'malformed'],
  'half a body': [text('{"jsonrpc":"2.0","id":1,"res'), 'malformed'],
  null: [text('null'), 'malformed'],
  'an empty array': [text('[]'), 'malformed'],
  'an empty object': [text('{}'), 'malformed'],
  'the answer to another id': [text('{"jsonrpc":"2.0","id":1,"result":"0x5"}'), 'malformed'],
  'no result': [({ calls }) => ({ body: { jsonrpc: '2.0', id: calls[0]?.id } }), 'malformed'],
  'an error with status 200': [
    answering(() => ({ error: { code: -32000, message: 'header not found' } })),
    'rpc',
  ],
  'an error without id': [
    text('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'),
    'rpc',
  ],
  'HTTP 429': [() => ({ status: 429, headers: { 'retry-after': '3' }, body: '' }), 'http'],
  'HTTP 502 with HTML': [() => ({ status: 502, body: '<html>' }), 'http'],
  'a reset connection': [() => 'reset', 'network'],
}

describe.each(Object.entries(reads))('%s', (method, read) => {
  test.each(Object.entries(broken))(
    'answered with %s is a typed error that names the method',
    async (_, [script, failure]) => {
      server.script(script)
      await expect(read(port)).rejects.toMatchObject({
        name: 'TxlaneError',
        fate: 'notExecuted',
        method,
        failure,
        message: expect.stringContaining(method),
      })
      expect(server.requests).toHaveLength(1)
    },
  )

  if (method === 'eth_getStorageAt')
    test('answered with 0x, which Ganache returns for an unset slot, is a zero word', async () => {
      server.script(results({ ...good, [method]: '0x' }))
      expect(await read(port)).toBe(hashOf('0'))
    })

  test.each([5, true, {}, 'x', '0x5g', ['x'], [[]], { hash: '0x' }].map((result) => [result]))(
    'answered with the result %j is a typed error that names the method, never a crash',
    async (result) => {
      server.script(results({ ...good, [method]: result }))
      await expect(read(port)).rejects.toMatchObject({ failure: 'malformed', method })
    },
  )

  test.each([
    { code: -32601, message: `the method ${method} does not exist/is not available` },
    { code: -32601, message: 'Method not found' },
    { code: -32000, message: `method ${method} is not supported` },
    { code: -32004, message: 'not here' },
  ])('not offered ($code: $message) is UNSUPPORTED, with the code', async (error) => {
    server.script(answering(() => ({ error })))
    await expect(read(port)).rejects.toMatchObject({ code: 'UNSUPPORTED', method, rpcCode: error.code })
  })

  test('carries no key of the URL in its error', async () => {
    server.script(() => ({ status: 500, body: `bad request to ${server.url}/v2/secret` }))
    const own = createHttpPort({ url: `${server.url}/v2/secret`, clock: systemClock })
    const error = await read(own).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ failure: 'http', status: 500 })
    expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain('secret')
  })
})

describe('a block of a real node', () => {
  const blockOf = async (fields: object, block: 'pending' | 'latest' | 16n = 'pending') => {
    server.script(results({ eth_getBlockByNumber: rawBlock(fields) }))
    return getBlockByNumber(port, { block })
  }

  test.each([
    ['null', null],
    ['missing', undefined],
    ['32 zero bytes', hashOf('0')],
  ])('may be pending with a hash that is %s', async (_, hash) => {
    expect((await blockOf({ hash }))?.hash).toBeNull()
  })

  test('may be pending with a hash of its contents so far', async () => {
    expect((await blockOf({ hash: hashOf('c') }))?.hash).toBe(hashOf('c'))
  })

  test('may be pending without number, size, nonce, miner and bloom', async () => {
    const block = await blockOf({ number: null, size: undefined, nonce: null, miner: null, logsBloom: null })
    expect(block).toMatchObject({ number: null, gasUsed: 21_000n })
    expect(block?.size).toBeUndefined()
  })

  test('keeps fields that are unknown to the reader', async () => {
    expect(await blockOf({ l1Origin: { number: 7 } })).toMatchObject({ l1Origin: { number: 7 } })
  })

  test('is not accepted as sealed if it lacks number or hash', async () => {
    await expect(blockOf({ number: null }, 'latest')).rejects.toThrow(/number is missing/)
    await expect(blockOf({ hash: hashOf('0') }, 'latest')).rejects.toThrow(/hash is missing/)
  })

  test('is not accepted if it is not the requested block', async () => {
    await expect(blockOf({ number: '0x11' }, 16n)).rejects.toThrow(/number is 17/)
  })

  test.each([{ size: 5 }, { miner: 'x' }, { stateRoot: '0x1' }, { uncles: {} }, { blobGasUsed: '' }])(
    'with %j is a typed error',
    async (fields) => {
      await expect(blockOf(fields)).rejects.toThrow(Object.keys(fields)[0])
    },
  )
})

describe('block receipts', () => {
  test('that are forbidden (403) are UNSUPPORTED with the status, and not requested again', async () => {
    server.script(() => ({ status: 403, body: 'forbidden' }))
    const read = () => getBlockReceipts(port, { block: 'latest' })
    await expect(read()).rejects.toMatchObject({ code: 'UNSUPPORTED', status: 403 })
    await expect(read()).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      status: 403,
      details: expect.stringContaining('403'),
    })
    expect(server.requests).toHaveLength(1)
    expect(profileOf(port).current().blockReceipts).toBe(false)
  })

  test('are forbidden on a devnet that imitates a public endpoint', async () => {
    await using devnet = await startDevnet({ mining: 'manual', blockReceipts: 'forbidden' })
    const client = createClient({ transport: http(devnet.url) })
    await expect(getBlockReceipts(client, { block: 'latest' })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      status: 403,
    })
  })

  test('are not affected by a 403 on other methods, which means bad credentials', async () => {
    server.script(() => ({ status: 403, body: 'forbidden' }))
    await expect(getCode(port, { address, block: 'latest' })).rejects.toMatchObject({
      code: 'REJECTED',
      status: 403,
    })
  })
})

describe('a batch', () => {
  const shuffled: Script = (request) => {
    const { body } = results(good)(request) as { body: unknown }
    return { body: Array.isArray(body) ? body.reverse() : body }
  }

  test('answered out of order is read correctly', async () => {
    server.script(shuffled)
    expect(await readLane(port, { address })).toMatchObject({ latest: { count: 5 }, pending: { count: 5 } })
    expect(server.requests).toHaveLength(1)
  })

  test('answered in part is a typed error', async () => {
    server.script(({ calls }) => ({ body: [{ jsonrpc: '2.0', id: calls[0]?.id, result: rawBlock() }] }))
    await expect(readLane(port, { address })).rejects.toMatchObject({ failure: 'malformed' })
  })

  test('answered with one error object is requested in parts, down to single calls', async () => {
    server.script((request) =>
      request.isBatch
        ? {
            body: {
              jsonrpc: '2.0',
              id: null,
              error: { code: -32600, message: 'batch requests are not supported' },
            },
          }
        : results({ ...good, eth_getBlockByNumber: numbered(request) })(request),
    )
    expect(await readLane(port, { address })).toMatchObject({ latest: { count: 5 }, pending: { count: 5 } })
    expect(profileOf(port).current().batch).toEqual({ usable: false, sizeMax: 1 })
    const before = server.requests.length
    expect((await probeEndpoint(port, { profile: profileOf(port) })).chainId).toBe(1)
    expect(server.requests.slice(before).every(({ isBatch }) => !isBatch)).toBe(true)
  })

  test('answered with one error object for a rate limit is not requested again', async () => {
    const error = { code: -32016, message: 'over rate limit' }
    server.script(() => ({ body: { jsonrpc: '2.0', id: null, error } }))
    await expect(readLane(port, { address })).rejects.toMatchObject({ name: 'TxlaneError' })
    expect(server.requests).toHaveLength(1)
  })
})

describe('bad input', () => {
  const word = hashOf('0')
  test.each<[string, (port: Port) => Promise<unknown>]>([
    ['block', (p) => getBlockByNumber(p, { block: 'newest' as never })],
    ['block', (p) => getBlockByNumber(p, { block: -1n })],
    ['block', (p) => getBlockByNumber(p, { block: hashOf('a') })],
    ['block', (p) => getBlockReceipts(p, {} as never)],
    ['block', (p) => getTransactionCount(p, { address, block: '' as never })],
    ['fullTransactions', (p) => getBlockByNumber(p, { block: 'latest', fullTransactions: 'yes' as never })],
    ['address', (p) => getCode(p, { address: '0x12', block: 'latest' })],
    ['address', (p) => getCode(p, { address: undefined as never, block: 'latest' })],
    [
      'address',
      (p) =>
        getTransactionCount(p, { address: '0xF39fd6e51aad88F6F4ce6aB8827279cffFb92266', block: 'latest' }),
    ],
    ['slot', (p) => getStorageAt(p, { address, slot: '0x', block: 'latest' })],
    ['slot', (p) => getStorageAt(p, { address, slot: -1n, block: 'latest' })],
    ['slot', (p) => getStorageAt(p, { address, slot: 1.5, block: 'latest' })],
    ['slot', (p) => getStorageAt(p, { address, slot: `${word}00`, block: 'latest' })],
    ['slot', (p) => getStorageAt(p, { address, slot: 2n ** 256n, block: 'latest' })],
  ])('for %s is an INVALID error that names it, and nothing is sent', async (argument, read) => {
    await expect(read(port)).rejects.toMatchObject({
      code: 'INVALID',
      fate: 'notExecuted',
      message: expect.stringContaining(`Invalid ${argument}:`),
    })
    expect(server.requests).toEqual([])
  })
})

describe('a viem client', () => {
  test('has the reads beside its own actions, without the retries of viem', async () => {
    const client = createClient({ transport: http(server.url, { retryCount: 3, retryDelay: 1 }) })
      .extend(publicActions)
      .extend(chainReads())
    const count: number = await client.reads.getTransactionCount({ address, block: 'pending' })
    expect(count).toBe(5)
    expect(await client.getTransactionCount({ address })).toBe(5)
    server.script(() => ({ status: 503, body: '' }))
    await expect(client.reads.getCode({ address, block: 'latest' })).rejects.toMatchObject({ status: 503 })
    expect(server.requests).toHaveLength(3)
  })

  test('with a fallback reads from the next endpoint only if the first does not know the answer', async () => {
    await using other = await startScriptedServer(results({ ...good, eth_getCode: '0x6001' }))
    const client = createClient({ transport: fallback([http(server.url), http(other.url)]) })
    server.script(() => 'reset')
    expect(await getCode(client, { address, block: 'latest' })).toBe('0x6001')
    server.script(answering(() => ({ error: { code: -32000, message: 'header not found' } })))
    await expect(getCode(client, { address, block: 'latest' })).rejects.toMatchObject({ rpcCode: -32000 })
    expect(other.requests).toHaveLength(1)
  })

  test('ends a read with ABORTED when its signal aborts', async () => {
    const client = createClient({ transport: http(server.url) })
    const controller = new AbortController()
    server.script(() => {
      controller.abort()
      return 'hang'
    })
    const read = getCode(client, { address, block: 'latest', signal: controller.signal })
    await expect(read).rejects.toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
  })
})
