import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { connect } from './connect.js'

let server: Server | undefined
afterEach(async () => {
  await new Promise((resolve) => server?.close(resolve))
  server = undefined
})

/** A node of the chain, with this client version. */
async function node(chainId: number, version: string): Promise<string> {
  const result = (method: string) => (method === 'eth_chainId' ? `0x${chainId.toString(16)}` : version)
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const read = JSON.parse(body) as { id: number; method: string }[]
    response.end(
      JSON.stringify(read.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: result(method) }))),
    )
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['a main network', 8_453, 'Geth/v1', true, 'Base (chain 8453)', 'Base (8453) at '],
  ['a fork of a main network', 1, 'anvil/v1', true, 'Ethereum (chain 1)', 'Ethereum (1) at '],
  ['a test network', 11_155_111, 'Geth/v1', false, 'Sepolia (chain 11155111)', 'Sepolia (11155111) at '],
  ['a usual id of local chains', 31_337, 'Geth/v1', false, 'chain 31337', '31337 at '],
  [
    'a development node with any id',
    987_654_321,
    'txlane-devnet/base',
    false,
    'chain 987654321',
    '987654321 at ',
  ],
  ['an unknown chain', 987_654_321, 'Geth/v1', true, 'chain 987654321', '987654321 at '],
])('%s (%i, %s): real money is %s', async (_, id, version, hasRealMoney, title, name) => {
  const connection = await connect(await node(id, version))
  expect(connection).toMatchObject({ hasRealMoney, title })
  expect(connection.name.startsWith(`${name}http://127.0.0.1:`)).toBe(true)
})
