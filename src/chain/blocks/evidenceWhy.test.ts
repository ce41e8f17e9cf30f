import { describe, expect, it } from 'vitest'
import {
  hashOf,
  isBody,
  isByHash,
  isCount,
  numberIn,
  rpcFailure,
  scriptedPort,
} from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import {
  ADDRESS,
  ask,
  chainWith,
  foreign,
  isOwn,
  mine,
  NOTHING,
  own,
  signatures,
} from './evidenceAsk.fixture.js'
import { readEvidence } from './nonceEvidence.js'

const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }
const NULL: RpcReply = { ok: true, result: null }
const PRUNED = rpcFailure(4444, 'pruned history unavailable')

const chain = chainWith(20, { 10: [mine(0)], 15: [foreign(1)] })
const query = { nonce: 1, from: 14, to: 19, isFirst: true }

/** The verdict on nonce 1, if some calls get other answers than those of the chain. */
const reported = (answers: (call: RpcCall) => RpcReply | undefined) =>
  ask(chain, query, (call) => answers(call) ?? chain.answer(call)).verdict

describe('the reason of an inconclusive verdict', () => {
  it('the newest block, or the count at it or at its parent, is unavailable', async () => {
    const why = 'the endpoint does not show the newest block that was walked, or no count at it'
    const isHeader = (call: RpcCall) => call.method === 'eth_getBlockByNumber' && !isBody(call)
    expect(await reported((call) => (isHeader(call) ? NULL : undefined))).toEqual({ kind: 'unsure', why })
    for (const number of [18, 19]) {
      const verdict = await reported((call) =>
        isCount(call) && numberIn(call) === number ? SILENT : undefined,
      )
      expect(verdict, `${number}`).toEqual({ kind: 'unsure', why })
    }
  })

  it('the counts of two blocks contradict each other', async () => {
    const why = 'the counts contradict each other'
    const verdict = await reported((call) =>
      isCount(call) && numberIn(call) === 16 ? { ok: true, result: '0x0' } : undefined,
    )
    expect(verdict).toEqual({ kind: 'unsure', why })
  })

  it.each([
    [SILENT, 'unsure', 'was not answered'],
    [NULL, 'unreadable', 'is missing'],
    [PRUNED, 'unreadable', 'is refused'],
    [{ ok: true, result: {} }, 'unreadable', 'contradicts itself'],
  ] as const)('the body at which the counts point is unavailable: %j', async (reply, kind, word) => {
    const why = `the body of block 15 ${word}`
    expect(await reported((call) => (isBody(call) ? reply : undefined))).toEqual({ kind, why })
  })

  it('the block of the use has left the chain before it was read again', async () => {
    const ours = chainWith(20, { 10: [foreign(0)], 15: [mine(1)] })
    for (const used of [chain, ours]) {
      const { verdict } = ask(used, query, (call) => {
        const reply = used.answer(call)
        if (isBody(call) || call.params[0] !== '0xf' || !reply.ok) return reply
        return { ok: true, result: { ...(reply.result as object), hash: hashOf('block', 9, 15) } }
      })
      expect(await verdict).toEqual({ kind: 'unsure', why: 'the chain moved while it was read' })
    }
  })

  it('no state is served in the range of the use, and no body near it contains the nonce', async () => {
    const why = 'the endpoint serves no state at block 79, and no body near it holds the nonce'
    const quiet = chainWith(100, { 5: [mine(0)], 20: [null] })
    const { verdict } = ask(quiet, { nonce: 1, from: 10, to: 99, isFirst: true }, (call) =>
      isCount(call) && !isByHash(call) && numberIn(call) < 80 ? PRUNED : quiet.answer(call),
    )
    expect(await verdict).toEqual({ kind: 'unreadable', why })
  })
})

describe('an endpoint that answers fewer calls than it received', () => {
  it('proves nothing, at any request', async () => {
    const history = { 10: [mine(0)], 15: [foreign(1)] }
    const requests = ask(chain, query)
    await requests.verdict
    expect(requests.port.batches.length).toBe(4)
    for (const short of requests.port.batches.keys()) {
      const port = scriptedPort(chainWith(20, history).answer)
      const batch = async (calls: readonly RpcCall[]) => {
        const replies = await port.batch(calls)
        return port.batches.length - 1 === short ? replies.slice(1) : replies
      }
      const full = { ...query, address: ADDRESS, own, isOwn, signatures } as const
      expect((await readEvidence({ ...port, batch }, full)).kind, `request ${short}`).toMatch(NOTHING)
    }
  })
})
