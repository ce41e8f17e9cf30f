import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/platform/clock.js'
import { batchReads } from '../../src/rpc/batchReads.js'
import { classifyReply } from '../../src/rpc/classify.js'
import { limitBatches } from '../../src/rpc/limitBatches.js'
import type { RpcCall } from '../../src/rpc/port.js'
import { createHttpPort, type HttpPortOptions } from '../../src/rpc/transports/http.js'

const MAX = 4 * 1024 * 1024
const PIECE = Buffer.alloc(64 * 1024, '0')
const GZIP_OF_ZEROS = gzipSync(Buffer.alloc(512 * 1024 * 1024, '0'), { level: 9 })
const HASH = `0x${'ab'.repeat(32)}` as const

let answer: (response: ServerResponse, ids: readonly number[]) => void
let writtenBytes = 0
let url = ''
const server = createServer((request, response) => {
  let text = ''
  request.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  request.on('end', () => {
    const calls = [JSON.parse(text)].flat() as { id: number }[]
    answer(
      response,
      calls.map(({ id }) => id),
    )
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  answer = (response) => response.end('[]')
  // Node's fetch sets its global dispatcher at its first request.
  await (await fetch(url, { method: 'POST', body: '[]' })).text()
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Writes until the client closes the connection. */
function endless(response: ServerResponse): void {
  const write = () => {
    while (!response.destroyed && response.write(PIECE)) writtenBytes += PIECE.length
    writtenBytes += PIECE.length
  }
  response.on('drain', write)
  response.write('[{"result":"')
  write()
}

const send: RpcCall = { method: 'eth_sendRawTransaction', params: ['0x02'] }
const ways: readonly (readonly [string, Partial<HttpPortOptions>])[] = [
  ['undici’s dispatcher', {}],
  ['fetch', { fetchFn: (...args) => fetch(...args) }],
]

describe.each(ways)('by %s', (_, options) => {
  const portOf = () => createHttpPort({ url, clock: systemClock, responseBytesMax: MAX, ...options })

  test('an endless answer is cut at the limit, and the connection is closed', async () => {
    writtenBytes = 0
    answer = endless
    const port = portOf()
    const [reply] = await port.batch([send])
    expect(reply).toMatchObject({ ok: false, failure: { kind: 'malformed', cut: true } })
    expect(reply).toMatchObject({ failure: { message: expect.stringContaining(`${MAX} bytes`) } })
    // The margin is for data in the sockets' buffers.
    expect(writtenBytes).toBeLessThan(MAX + 32 * 1024 * 1024)
    expect(classifyReply(reply!, HASH)).toMatchObject({ outcome: 'unknown' })
    port.close()
  })

  test('half a megabyte of gzip that unpacks to 512 MB is cut at the limit of unpacked bytes', async () => {
    answer = (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(GZIP_OF_ZEROS)
    const before = process.memoryUsage().rss
    const port = portOf()
    expect(await port.batch([send])).toMatchObject([{ ok: false, failure: { kind: 'malformed', cut: true } }])
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024)
    port.close()
  })

  test('an answer of exactly the limit is read', async () => {
    const port = portOf()
    answer = (response, [id]) => {
      const empty = JSON.stringify({ id, result: '' })
      response.end(JSON.stringify({ id, result: 'x'.repeat(MAX - empty.length) }))
    }
    expect(await port.batch([send])).toMatchObject([{ ok: true }])
    port.close()
  })

  test('reads whose answers are too large together are read in smaller batches', async () => {
    const port = limitBatches(portOf())
    answer = (response, ids) =>
      response.end(JSON.stringify(ids.map((id) => ({ id, result: 'x'.repeat(MAX / 3) }))))
    const calls = Array.from({ length: 8 }, () => ({ method: 'eth_getBlockReceipts', params: ['0x1'] }))
    const replies = await batchReads(port, calls)
    expect(replies.map(({ ok }) => ok)).toEqual(Array(8).fill(true))
    port.close()
  })
})
