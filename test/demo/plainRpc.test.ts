import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createPlainRpc } from './plainRpc.js'

type Body = { id: number; method: string } | { id: number; method: string }[]
const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(answer: (body: Body, request: IncomingMessage) => unknown): Promise<string> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on('end', () => {
      const answered = answer(JSON.parse(text) as Body, request)
      response.end(typeof answered === 'string' ? answered : JSON.stringify(answered))
    })
  })
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const echo = ({ id, method }: { id: number; method: string }) => ({ jsonrpc: '2.0', id, result: method })

test('returns results in call order, in requests of the given size, for any order of the answers', async () => {
  const sizes: number[] = []
  const host = await serve((body) => {
    if (!Array.isArray(body)) return echo(body)
    sizes.push(body.length)
    return body.map(echo).reverse()
  })
  const rpc = createPlainRpc(`http://${host}`)
  expect(await rpc.all([['a'], ['b'], ['c'], ['d'], ['e']], 2)).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(sizes).toEqual([2, 2])
})

test('sends calls one by one to a node that refuses batches', async () => {
  const host = await serve((body) =>
    Array.isArray(body)
      ? { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no batches' } }
      : echo(body),
  )
  expect(await createPlainRpc(`http://${host}`).all([['a'], ['b']])).toEqual(['a', 'b'])
})

test('reports a call without a result, with the method and without credentials', async () => {
  const host = await serve((body) => ({
    jsonrpc: '2.0',
    id: (body as { id: number }).id,
    error: { code: 1, message: 'ask https://node.example/secret' },
  }))
  const failure = await createPlainRpc(`http://me:secret@${host}/secret`)
    .call('eth_chainId')
    .then(String, String)
  expect(failure).toContain('eth_chainId')
  expect(failure).not.toContain('secret')
})

test('reports an answer that is not JSON, with the host and without credentials', async () => {
  const host = await serve(() => 'try again later')
  const failure = await createPlainRpc(`http://me:secret@${host}/secret`)
    .call('eth_chainId')
    .then(String, String)
  expect(failure).toContain(host)
  expect(failure).not.toContain('secret')
})

test('sends user and password of the URL in a header', async () => {
  const host = await serve((body, { headers }) => ({
    ...echo(body as { id: number; method: string }),
    result: headers.authorization,
  }))
  const expected = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
  expect(await createPlainRpc(`http://me:p%40ss@${host}`).call('a')).toBe(expected)
})
