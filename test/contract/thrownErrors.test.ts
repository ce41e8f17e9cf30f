import { FetchRequest, JsonRpcProvider, Network } from 'ethers'
import { createClient, type Hex, http, parseGwei } from 'viem'
import { sendRawTransaction } from 'viem/actions'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { classifySendError } from '../../src/index.js'
import { answerOf, type ClientCorpus, meaningOf, type Said } from '../../src/rpc/corpus/corpus.fixture.js'
import { CLIENTS } from '../../src/rpc/corpus/index.fixture.js'
import { PROVIDERS } from '../../src/rpc/corpus/providers.fixture.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { sign } from '../integration/devnetSupport.js'
import { answering, type Script, type ScriptedServer, startScriptedServer } from './scriptedServer.js'

type Send = (url: string, raw: Hex) => Promise<unknown>

const viem: Send = (url, serializedTransaction) =>
  sendRawTransaction(createClient({ transport: http(url, { retryCount: 0 }) }), { serializedTransaction })

/** One attempt, because ethers' own backoff would post to a throttled endpoint twelve times. */
async function withEthers<t>(url: string, work: (provider: JsonRpcProvider) => Promise<t>): Promise<t> {
  const request = new FetchRequest(url)
  request.setThrottleParams({ maxAttempts: 1 })
  const network = Network.from(31_337)
  const provider = new JsonRpcProvider(request, network, { staticNetwork: network, batchMaxCount: 1 })
  try {
    return await work(provider)
  } finally {
    provider.destroy()
  }
}

const ethers: Send = (url, raw) =>
  withEthers(url, (provider) => provider.send('eth_sendRawTransaction', [raw]))

/** ethers' own way: it also requests the block number, and parses the transaction that it sends. */
const ethersBroadcast: Send = (url, raw) => withEthers(url, (provider) => provider.broadcastTransaction(raw))

const LIBRARIES = { viem, 'ethers, send': ethers, 'ethers, broadcastTransaction': ethersBroadcast }

async function thrownBy(send: Send, url: string, raw: Hex): Promise<unknown> {
  try {
    return { nothing: await send(url, raw) }
  } catch (error) {
    return error
  }
}

let devnet: Devnet
let server: ScriptedServer
let raw: Hex
beforeAll(async () => {
  devnet = await startDevnet({ mining: 'manual', rules: 'geth' })
  server = await startScriptedServer(() => 'reset')
  raw = await sign(devnet, devnet.accounts[0]!, 0)
})
afterAll(async () => {
  await server.close()
  await devnet.stop()
})

const UNKNOWN: readonly (readonly [string, Script])[] = [
  ['HTTP 503', () => ({ status: 503, body: 'nonce too low' })],
  ["HTTP 500 with a node's error", () => ({ status: 500, body: { error: { message: 'nonce too low' } } })],
  ['a reset connection', () => 'reset'],
  ['HTML', () => ({ body: '<html>nonce too low</html>' })],
  ['an empty body', () => ({ body: '' })],
]

/** Every send is answered with the error, in the node's own words. */
function saysTo(said: Said, code: number): void {
  const error = {
    code: said.code ?? code,
    message: said.message,
    ...(said.data === undefined ? {} : { data: said.data }),
  }
  server.script(answering(({ method }) => (method.startsWith('eth_send') ? { error } : { result: '0x1' })))
}

describe.each(Object.entries(LIBRARIES))('the errors that %s throws', (_, send) => {
  test.each(CLIENTS.map((corpus) => [corpus.client, corpus] as const))(
    'for the messages of %s are classified as the messages are',
    async (_client, corpus: ClientCorpus) => {
      for (const said of Object.values(corpus.said).flat()) {
        const { message } = said
        saysTo(said, corpus.code)
        const reported = classifySendError(await thrownBy(send, server.url, raw))
        expect({ message, ...meaningOf(reported) }).toEqual({ message, ...answerOf(said) })
      }
    },
  )

  test('for the messages of hosted providers are classified as the messages are', async () => {
    for (const said of PROVIDERS.flatMap((provider) => provider.said)) {
      const { message } = said
      saysTo(said, -32_000)
      const reported = classifySendError(await thrownBy(send, server.url, raw))
      expect({ message, ...meaningOf(reported) }).toEqual({ message, ...answerOf(said) })
    }
  })

  test('for HTTP 429 is a rate limit, with the delay of Retry-After', async () => {
    server.script(() => ({
      status: 429,
      headers: { 'content-type': 'text/plain', 'retry-after': '2' },
      body: 'slow down',
    }))
    const reported = classifySendError(await thrownBy(send, server.url, raw))
    expect(reported).toEqual({
      outcome: 'refused',
      reason: 'rateLimited',
      counted: false,
      retryAfterMs: 2_000,
    })
  })

  test("for HTTP 400 with a node's error in its body is classified as that error", async () => {
    const body = { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'already known' } }
    server.script(() => ({ status: 400, body }))
    const reported = classifySendError(await thrownBy(send, server.url, raw))
    expect(reported).toMatchObject({ outcome: 'accepted', reason: 'alreadyKnown' })
  })

  test.each(UNKNOWN)('for %s is unknown', async (_name, script) => {
    server.script(script)
    expect(classifySendError(await thrownBy(send, server.url, raw)).outcome).toBe('unknown')
  })

  test('for a revert is unknown', async () => {
    saysTo(
      { outcome: 'unknown', reason: 'unknown', counted: false, message: 'execution reverted: nonce too low' },
      3,
    )
    expect(classifySendError(await thrownBy(send, server.url, raw)).outcome).toBe('unknown')
  })
})

describe.each(Object.entries(LIBRARIES))('the errors that %s throws against a node', (_, send) => {
  test('for its refusals are classified as the refusals are', async () => {
    // Each library has its own accounts, because transactions of one would stay in the pool during the next.
    const index: number = Object.values(LIBRARIES).indexOf(send)
    const account = devnet.accounts[index + 1]!
    const poor = 10n ** 30n
    const reported = async (bytes: Hex) => classifySendError(await thrownBy(send, devnet.url, bytes))

    const first = await sign(devnet, account, 0)
    await send(devnet.url, first)
    expect(await reported(first)).toMatchObject({ outcome: 'accepted', reason: 'alreadyKnown' })

    const bumped = await sign(devnet, account, 0, { maxFeePerGas: parseGwei('10') + 1n })
    expect(await reported(bumped)).toMatchObject({ outcome: 'refused', reason: 'replacementUnderpriced' })

    const rich = await sign(devnet, account, 1, { value: poor })
    expect(await reported(rich)).toMatchObject({ outcome: 'refused', reason: 'insufficientFunds' })

    const starved = await sign(devnet, account, 1, { gas: 20_000n })
    expect(await reported(starved)).toMatchObject({ outcome: 'refused', reason: 'gasLimit', counted: true })

    const elsewhere = await sign(devnet, account, 1, { chainId: 1 })
    expect(await reported(elsewhere)).toMatchObject({ outcome: 'refused', reason: 'wrongChain' })

    await devnet.seal()
    const again = await sign(devnet, account, 0, { value: 2n })
    expect(await reported(again)).toMatchObject({
      outcome: 'refused',
      reason: 'nonceTooLow',
      expectedNonce: 1,
    })
  })
})
