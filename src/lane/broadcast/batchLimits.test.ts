import { describe, expect, test } from 'vitest'
import { openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { BatchRefusal } from '../../rpc/envelope.js'
import type { RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'

const oneError = (code: number, message: string): BatchRefusal => ({
  kind: 'malformed',
  message: `the batch was answered with one error: ${message}`,
  ofBatch: { code, message },
})

/** Replies of endpoints to a batch that exceeds their limit. */
const ways: readonly (readonly [string, RpcFailure])[] = [
  ['HTTP 500', { kind: 'http', status: 500, message: 'HTTP 500' }],
  ['HTTP 413', { kind: 'http', status: 413, message: 'HTTP 413' }],
  ['one error object', oneError(-32000, 'something went wrong')],
  ['-32005', oneError(-32005, 'batch limit exceeded')],
  ['-32600', oneError(-32600, 'batch too large')],
  ['-32005 without a mention of batches', oneError(-32005, 'limit exceeded')],
  ['HTTP 403', { kind: 'http', status: 403, message: 'HTTP 403' }],
  ['HTTP 431', { kind: 'http', status: 431, message: 'HTTP 431' }],
  ['an unknown message for each call', { kind: 'rpc', code: -32000, message: 'maximum of 3 items exceeded' }],
  ['-32005 to each call', { kind: 'rpc', code: -32005, message: 'limit exceeded' }],
  ['a closed socket', { kind: 'network', message: 'socket hang up' }],
]

const COUNT = 40
const markers = Array.from({ length: COUNT }, (_, index) => index + 1)

const allFail = (calls: readonly RpcCall[], failure: RpcFailure): readonly RpcReply[] =>
  calls.map(() => ({ ok: false, failure }))

async function burst(lane: SimLane) {
  const sent = await lane.settle(Promise.all(markers.map((marker) => lane.sender.send(transfer(marker)))))
  await lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))
}

describe('an endpoint that accepts a few calls in a batch', () => {
  const limits = Array.from({ length: 10 }, (_, index) => index + 1)

  test.each(ways)(
    'opens the lane and lands a burst if larger batches are answered with %s',
    async (_, failure) => {
      for (const limit of limits) {
        await using lane = await openLane({ closed: true })
        let refused = 0
        lane.refusal = (calls) => {
          if (calls.length <= limit) return undefined
          refused++
          return allFail(calls, failure)
        }
        lane.chain.start()
        await lane.settle(lane.sender.ready(), 10_000)
        await burst(lane)
        expect(lane.executed(), `limit ${limit}`).toEqual(markers)
        // Each size is refused for the requests that are open at that time, and is tried again now and then.
        expect(refused, `limit ${limit}`).toBeLessThanOrEqual(30)
        // Each halving of a refused batch sends its transactions once more.
        const handed = lane.requests.filter((calls) => calls.length <= limit).flat()
        const sends = handed.filter(({ method }) => method === 'eth_sendRawTransaction')
        expect(sends.length, `limit ${limit}`).toBeLessThanOrEqual(COUNT * 1.2)
      }
    },
  )

  test.each(ways)(
    'lands every transaction and gives none up if larger batches of sends, but not of reads, are answered with %s',
    async (_, failure) => {
      for (const limit of [1, 3, 10]) {
        await using lane = await openLane({ closed: true })
        const isSend = ({ method }: RpcCall) => method === 'eth_sendRawTransaction'
        lane.refusal = (calls) =>
          calls.length > limit && calls.some(isSend) ? allFail(calls, failure) : undefined
        lane.chain.start()
        await lane.settle(lane.sender.ready(), 10_000)
        await burst(lane)
        expect(lane.executed(), `limit ${limit}`).toEqual(markers)
      }
    },
  )

  test('no request of any kind is larger than `limits.batchMax`', async () => {
    for (const batchMax of [1, 2, 3, 10]) {
      await using lane = await openLane({ limits: { batchMax }, closed: true })
      lane.chain.start()
      await lane.settle(lane.sender.ready())
      await burst(lane)
      expect(lane.executed()).toEqual(markers)
      expect(Math.max(...lane.requests.map(({ length }) => length)), `batchMax ${batchMax}`).toBe(batchMax)
    }
  })
})

test('does not count the refusal of a batch against its transactions, even if each answer takes seconds', async () => {
  const isSend = ({ method }: RpcCall) => method === 'eth_sendRawTransaction'
  await using lane = await openLane({ closed: true, lateMs: (calls) => (calls.some(isSend) ? 3_000 : 0) })
  const words: RpcFailure = { kind: 'rpc', code: -32000, message: 'maximum of 1 item exceeded' }
  lane.refusal = (calls) => (calls.length > 1 && calls.some(isSend) ? allFail(calls, words) : undefined)
  lane.chain.start()
  await lane.settle(lane.sender.ready(), 10_000)
  await lane.settle(burst(lane), 1_000_000)
  expect(lane.executed()).toEqual(markers)
})

test('sends one request per tick to an endpoint that is unavailable, however many calls the tick contains', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  lane.refusal = (calls) => allFail(calls, { kind: 'http', status: 503, message: 'HTTP 503' })
  await lane.clock.advance(1_000)
  const before = lane.requests.length
  await lane.clock.advance(10_000)
  const requests = lane.requests.slice(before)
  expect(requests.length).toBeLessThanOrEqual(60)
  expect(requests.every(({ length }) => length === 1)).toBe(true)
})
