import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Address, type Hex, hexToBigInt, parseTransaction, type TransactionSerializable } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { ended } from '../support/ended.js'
import { DEVNET_KEY, EXAMPLE_TIMEOUT_MS, startExample } from '../support/exampleProcess.js'
import { pause } from '../support/pause.js'
import { rpc } from './devnetSupport.js'

vi.setConfig({ testTimeout: EXAMPLE_TIMEOUT_MS })

let devnet: Devnet

beforeAll(async () => {
  // Blocks are only made on request: a quote stays in flight until the test seals it.
  devnet = await startDevnet({ mining: 'manual', blockTimeMs: 400, flashblockMs: 200 })
})
afterAll(() => devnet.stop())

type Call = { readonly method: string; readonly params: readonly [Hex] }

/** A node in front of the devnet that can be taken down. */
async function startNode() {
  const sent: Pick<TransactionSerializable, 'nonce' | 'to'>[] = []
  const node = { url: '', down: false, sent, stop: () => {} }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    if (node.down) return void request.socket.destroy()
    const body = Buffer.concat(parts).toString()
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(devnet.url, { method: 'POST', headers, body })
    response.writeHead(answer.status, headers).end(await answer.text())
    for (const { method, params } of [JSON.parse(body) as Call | Call[]].flat())
      if (method === 'eth_sendRawTransaction') sent.push(parseTransaction(params[0]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  node.stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return node
}

const slot = (book: Address, index: number) =>
  rpc<Hex>(devnet.url, 'eth_getStorageAt', book, `0x${index}`, 'latest').then(hexToBigInt)

/** Makes blocks until `work` is done. */
async function withBlocks<t>(work: Promise<t>): Promise<t> {
  let over = false
  const done = work.finally(() => {
    over = true
  })
  done.catch(() => {})
  while (!over) {
    await devnet.stepFlashblock()
    await Promise.race([done, pause(50)]).catch(() => {})
  }
  return done
}

test('quotes are replaced and withdrawn, a node may go down, and in the end there is no quote', async () => {
  const node = await startNode()
  await using bot = startExample('market-maker/bot.ts', {
    RPC_URL: node.url,
    RPC_URL_2: devnet.url,
    WS_URL: devnet.wsUrl,
    CHAIN_ID: String(devnet.chain.id),
    PRIVATE_KEY: DEVNET_KEY,
    QUOTE_MS: '40',
    STALE_MS: '600000',
  })
  const [, book] = (await withBlocks(bot.line(/"book":"(0x\w+)"/))) as unknown as [string, Address]
  // The tenth time there is no price. Until then each quote replaces the previous one.
  const [, nonce] = await bot.line(/"cancelling":(\d+)/)
  expect(await slot(book, 2)).toBe(0n)
  // The withdrawal is a transfer to itself that outbids the quote. No block is made before it is there.
  const { address } = devnet.accounts[0]!
  const isTakenBack = (one: (typeof node.sent)[number]) =>
    one.nonce === Number(nonce) && one.to?.toLowerCase() === address.toLowerCase()
  while (!node.sent.some(isTakenBack)) await pause(20)
  await withBlocks(bot.line(/"pulled":true/))
  await devnet.seal()
  // None of the quotes is on the chain, only the record that there is none.
  expect([await slot(book, 0), await slot(book, 1), await slot(book, 2)]).toEqual([0n, 0n, 1n])
  node.down = true
  await withBlocks(bot.line(new RegExp(`"endpoint":"${node.url}","change":"down"`)))
  bot.kill('SIGTERM')
  const { code, out, err } = await withBlocks(bot.ended)
  node.stop()
  expect(code, err).toBe(0)
  const reported = out.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>)
  const first = reported.slice(
    0,
    reported.findIndex(({ cancelling }) => cancelling !== undefined),
  )
  const nonces = first.filter(({ quoted }) => quoted !== undefined).map((line) => line.nonce)
  expect(nonces).toEqual(Array.from({ length: 9 }, () => Number(nonce)))
  const end = reported.at(-1) as Record<string, number>
  expect(end, out).toMatchObject({ unsealed: 0 })
  expect(end.replaced).toBeGreaterThanOrEqual(8)
  expect(end.cancelled).toBeGreaterThanOrEqual(1)
  expect(end.flashblockTransactions).toBeGreaterThan(0)
  expect([await slot(book, 0), await slot(book, 1)]).toEqual([0n, 0n])
  expect(await devnet.pool()).toEqual([])
})

test('started as its README describes, it stops if a required setting is missing', async () => {
  const bot = spawn('npx', ['tsx', 'examples/market-maker/bot.ts'], {
    env: { ...process.env, RPC_URL: devnet.url, PRIVATE_KEY: DEVNET_KEY },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // On Base, the default chain, it does not deploy a book by itself.
  expect(await ended(bot)).toMatchObject({ code: 2, err: expect.stringContaining('BOOK') })
})
