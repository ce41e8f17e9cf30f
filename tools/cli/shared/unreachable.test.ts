import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { connect } from './connect.js'

let server: Server | undefined
afterEach(async () => {
  await new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)))
  server = undefined
})

const KEY = 'k3Xv9-Qw7LmZ2pR8'
type Respond = (response: ServerResponse, isBatch: boolean) => void

/** The refusal for a node that responds in this way, whose URL has credentials. */
async function refusal(respond: Respond): Promise<string> {
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    respond(response, body.startsWith('['))
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://anna:hunter2x@127.0.0.1:${port}/v2/${KEY}?token=s3cr3t`
  const message = await connect(url).then(
    () => 'connected',
    (error: Error) => error.message,
  )
  for (const secret of [KEY, 'anna', 'hunter2x', 's3cr3t']) expect(message).not.toContain(secret)
  return message.replace(`http://127.0.0.1:${port} does not answer eth_chainId: `, '')
}

const failing =
  (status: number, type: string, body: string): Respond =>
  (response) =>
    void response.writeHead(status, { 'content-type': type, 'retry-after': '0' }).end(body)
const rpcError = (message: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32005, message } })

test.each<[what: string, respond: Respond, says: string]>([
  [
    'HTTP 401',
    failing(401, 'application/json', `{"error":"no project ${KEY}"}`),
    'HTTP 401 (Unauthorized), "no project …".',
  ],
  [
    'HTTP 403 of a page',
    failing(403, 'text/html', '<!DOCTYPE html><p>no'),
    'HTTP 403 (Forbidden), a web page.',
  ],
  ['HTTP 429', failing(429, 'text/plain', ''), 'HTTP 429 (Too Many Requests).'],
  [
    'HTTP 429 as JSON-RPC',
    failing(429, 'application/json', rpcError('daily limit reached')),
    'the node says "daily limit reached".',
  ],
  ['HTTP 503', failing(503, 'text/plain', 'at work'), 'HTTP 503 (Service Unavailable), "at work".'],
  [
    'a web page',
    failing(200, 'text/html', '<html>'),
    'its answer is no JSON, as that of a web page: is this the URL of a node?',
  ],
  [
    'other JSON',
    failing(200, 'application/json', '{"ok":true}'),
    'its answer is no id of a chain: "nothing".',
  ],
  [
    'an error of the node',
    failing(200, 'application/json', rpcError(`key ${KEY} is locked`)),
    'the node says "key … is locked".',
  ],
  ['a cut connection', (response) => void response.destroy(), 'the connection was cut.'],
  [
    'no batches',
    (response, isBatch) =>
      void response.end(isBatch ? '{"error":"one"}' : '{"jsonrpc":"2.0","id":1,"result":"0x1"}'),
    'it answers single requests, but no batches of them.',
  ],
])('%s is quoted, without credentials', async (_, respond, says) => {
  expect(await refusal(respond)).toBe(says)
})

test('a refused connection is called so', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  await new Promise((resolve) => other.close(resolve))
  await expect(connect(`http://127.0.0.1:${port}/${KEY}`)).rejects.toThrow(
    `http://127.0.0.1:${port} does not answer eth_chainId: the connection was refused: does the node run, on this port?`,
  )
})
