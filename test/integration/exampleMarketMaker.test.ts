import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Address, type Hex, hexToBigInt } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../../src/devnet/index.js'
import { DEVNET_KEY, startExample } from '../support/exampleProcess.js'
import { rpc } from './devnetSupport.js'

let devnet: Devnet

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 1_000, flashblockMs: 200 })
})
afterAll(() => devnet.stop())

/** A node that can be taken away, in front of the devnet. */
async function startNode() {
  const node = { url: '', down: false, sends: 0, stop: () => {} }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    if (node.down) return void request.socket.destroy()
    const body = Buffer.concat(parts).toString()
    if (body.includes('eth_sendRawTransaction')) node.sends++
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(devnet.url, { method: 'POST', headers, body })
    response.writeHead(answer.status, headers).end(await answer.text())
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

test('quotes are replaced and taken back, a node may go away, and in the end nothing is quoted', async () => {
  const node = await startNode()
  await using bot = startExample('market-maker/bot.ts', {
    RPC_URL: node.url,
    RPC_URL_2: devnet.url,
    WS_URL: devnet.wsUrl,
    CHAIN_ID: String(devnet.chain.id),
    PRIVATE_KEY: DEVNET_KEY,
    // Several prices a flashblock: most quotes are replaced before anybody sees them.
    QUOTE_MS: '40',
  })
  const [, book] = (await bot.line(/"book":"(0x\w+)"/)) as unknown as [string, Address]
  // Every twentieth time there is no price.
  await bot.line(/"pulled":true/)
  node.down = true
  await bot.line(new RegExp(`"endpoint":"${node.url}","change":"down"`))
  bot.kill('SIGTERM')
  const { code, out, err } = await bot.ended
  node.stop()
  expect(code, err).toBe(0)
  expect(node.sends).toBeGreaterThan(0)
  const end = JSON.parse(out.split('\n').at(-1) ?? '') as Record<string, number>
  expect(end, out).toMatchObject({ unsealed: 0 })
  expect(end.quoted).toBeGreaterThan(20)
  expect(end.replaced).toBeGreaterThan(0)
  expect(end.flashblockTransactions).toBeGreaterThan(0)
  expect([await slot(book, 0), await slot(book, 1)]).toEqual([0n, 0n])
  // One was there, and fewer than were quoted: what was replaced has not executed.
  const calls = Number(await slot(book, 2))
  expect(calls).toBeGreaterThan(1)
  expect(calls).toBeLessThan((end.quoted ?? 0) + 2)
  const { address } = devnet.accounts[0]!
  const counts = ['latest', 'pending'].map((tag) => rpc(devnet.url, 'eth_getTransactionCount', address, tag))
  const [latest, pending] = await Promise.all(counts)
  expect(latest).toBe(pending)
  expect(await devnet.pool()).toEqual([])
})

test('it does not start without what it needs', async () => {
  await using bot = startExample('market-maker/bot.ts', { RPC_URL: devnet.url, PRIVATE_KEY: DEVNET_KEY })
  // On Base, the default, it deploys no book by itself.
  expect(await bot.ended).toMatchObject({ code: 2 })
})
