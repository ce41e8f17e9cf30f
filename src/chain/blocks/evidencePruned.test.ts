import { describe, expect, it } from 'vitest'
import {
  hashOf,
  isBody,
  isByHash,
  isCount,
  numberIn,
  rpcFailure,
  type ScriptedChain,
  scriptedChain,
  scriptedPort,
} from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import {
  ADDRESS,
  type Ask,
  ask,
  chainWith,
  foreign,
  isOwn,
  mine,
  NOTHING,
  one,
  own,
  signatures,
  UNREADABLE,
  UNSURE,
} from './evidenceAsk.fixture.js'
import { readEvidence } from './nonceEvidence.js'

describe('readEvidence where old state is not served', () => {
  const WORDS: RpcReply[] = [
    rpcFailure(-32000, `missing trie node ${'ab'.repeat(32)} (path )`),
    rpcFailure(-32000, 'required historical state unavailable (reexec=128)'),
    rpcFailure(4444, 'state at block #10 is pruned'),
    rpcFailure(-32603, 'Internal error'),
    {
      ok: false,
      failure: {
        kind: 'http',
        status: 400,
        message: 'HTTP 400',
        rpc: { code: -32000, message: 'missing trie node' },
      },
    },
    {
      ok: false,
      failure: {
        kind: 'custom',
        message: 'rejected',
        cause: new Error('x', { cause: new Error('historical state is not available') }),
      },
    },
  ]
  /** A node that serves the bodies of all blocks, and counts from one block on. */
  const prunedBelow =
    (chain: ScriptedChain, block: number, word: RpcReply = WORDS[0] as RpcReply) =>
    (call: RpcCall) =>
      isCount(call) && !isByHash(call) && numberIn(call) < block ? word : chain.answer(call)

  it('takes a body with a foreign transaction of that nonce as a proof, in whatever words state is refused', async () => {
    const chain = chainWith(400, { 50: [mine(0)], 120: [foreign(1)], 390: [foreign(2)] })
    const block = { number: 120, hash: chain.blockHash(120) }
    for (const word of WORDS) {
      const { verdict } = ask(chain, { nonce: 1, from: 60, to: 399 }, prunedBelow(chain, 272, word))
      expect(await verdict).toEqual({ kind: 'other', witnesses: one(1), block })
    }
  })

  it('finds the own attempt in a body', async () => {
    const chain = chainWith(400, { 50: [mine(0)], 120: [mine(1)] })
    const block = { number: 120, hash: chain.blockHash(120) }
    const { verdict } = ask(chain, { nonce: 1, from: 60, to: 399 }, prunedBelow(chain, 272))
    expect(await verdict).toEqual({
      kind: 'own',
      hash: mine(1),
      block,
      beside: [hashOf('stranger', 120), mine(1)],
    })
  })

  it('works as ever where the pair lies in the state that is served', async () => {
    const chain = chainWith(400, { 50: [mine(0)], 300: [foreign(1)] })
    const block = { number: 300, hash: chain.blockHash(300) }
    const { verdict } = ask(chain, { nonce: 1, from: 60, to: 399 }, prunedBelow(chain, 272))
    expect(await verdict).toEqual({ kind: 'other', witnesses: one(1), block })
  })

  it('has no evidence when no body holds the nonce: absence proves nothing without a count', async () => {
    const chain = chainWith(400, { 50: [mine(0)], 120: [null] })
    const { port, verdict } = ask(chain, { nonce: 1, from: 60, to: 399 }, prunedBelow(chain, 272))
    expect(await verdict).toMatchObject(UNREADABLE)
    expect(port.batches.length).toBeLessThanOrEqual(40)
  })

  it('reads no more bodies than allowed, and no further than a higher nonce of the account', async () => {
    const chain = chainWith(2_000, { 50: [mine(0)], 900: [foreign(1)], 1500: [foreign(2)] })
    const bodies = async (query: Ask) => {
      const { port, verdict } = ask(chain, query, prunedBelow(chain, 1_900))
      return { verdict: await verdict, bodies: port.batches.flat().filter(isBody).map(numberIn) }
    }
    const few = await bodies({ nonce: 1, from: 60, to: 1_999 })
    expect(few.verdict).toMatchObject(UNREADABLE)
    expect(few.bodies.filter((number) => number > 60).length).toBe(256)
    const passed = await bodies({ nonce: 0, from: 850, to: 1_999 })
    expect(passed.verdict).toMatchObject(UNREADABLE)
    expect(Math.max(...passed.bodies)).toBeLessThan(900 + 8)
  })

  it('sends no request that asks for the chain id alone, when as many bodies are read as go in whole requests', async () => {
    const chain = chainWith(400, { 50: [mine(0)], 120: [null] })
    const query = { nonce: 1, from: 60, to: 399, bodiesMax: 16, chainId: 1 }
    const { port, verdict } = ask(chain, query, prunedBelow(chain, 272))
    expect(await verdict).toMatchObject(UNREADABLE)
    expect(port.batches.filter((calls) => calls.every(({ method }) => method === 'eth_chainId'))).toEqual([])
  })

  it('reads downwards when the block believed in has passed the nonce as well, or no count denies it', async () => {
    const chain = chainWith(400, { 200: [foreign(0)], 300: [mine(1)] })
    const block = { number: 200, hash: chain.blockHash(200) }
    const from = (from: number) => ask(chain, { nonce: 0, from, to: 399 }, prunedBelow(chain, 220)).verdict
    for (const verdict of await Promise.all([350, 210].map(from)))
      expect(verdict).toMatchObject({ kind: 'other', block, witnesses: one(0) })
  })

  it('asks for bodies one by one where several are too much for the endpoint', async () => {
    const chain = chainWith(400, { 120: [foreign(0)] })
    const pruned = prunedBelow(chain, 272)
    const port = scriptedPort(pruned)
    const picky = {
      ...port,
      async batch(calls: readonly RpcCall[]): Promise<readonly RpcReply[]> {
        const replies = await port.batch(calls)
        if (calls.filter(isBody).length < 2) return replies
        return calls.map(() => ({ ok: false, failure: { kind: 'http', status: 413, message: 'too large' } }))
      },
    }
    const query = { address: ADDRESS, own, isOwn, signatures, nonce: 0, from: 110, to: 399 } as const
    expect(await readEvidence(picky, query)).toMatchObject({ kind: 'other', witnesses: one(0) })
  })

  it('concludes nothing when a body fails, or is null', async () => {
    const chain = chainWith(400, { 120: [foreign(0)] })
    const pruned = prunedBelow(chain, 272)
    for (const reply of [
      { ok: true, result: null },
      { ok: false, failure: { kind: 'timeout', message: 'late' } },
    ] as RpcReply[]) {
      const { verdict } = ask(chain, { nonce: 0, from: 100, to: 399 }, (call) =>
        isBody(call) && numberIn(call) === 115 ? reply : pruned(call),
      )
      expect((await verdict).kind).toMatch(NOTHING)
    }
  })

  it('concludes nothing when the body that holds the nonce has left the chain', async () => {
    const chain = chainWith(400, { 120: [foreign(0)] })
    const moved = scriptedChain(
      ADDRESS,
      Array.from({ length: 400 }, () => []),
      { id: 1, forkedAt: 100 },
    )
    const pruned = prunedBelow(chain, 272)
    let seen = false
    const { verdict } = ask(chain, { nonce: 0, from: 110, to: 399 }, (call) => {
      if (seen && !isBody(call)) return moved.answer(call)
      seen ||= isBody(call) && numberIn(call) === 120
      return pruned(call)
    })
    expect(await verdict).toMatchObject(UNSURE)
  })

  it('does not take a rate limit for missing history, nor a refusal that is not repeated', async () => {
    const chain = chainWith(400, { 50: [mine(0)], 120: [null] })
    const query = { nonce: 1, from: 60, to: 399 }
    const words = [rpcFailure(-32016, 'over rate limit'), rpcFailure(-32000, 'too many requests')]
    for (const word of [...words, rpcFailure(-32005, 'limit')]) {
      expect(await ask(chain, query, prunedBelow(chain, 272, word)).verdict).toMatchObject(UNSURE)
    }
    const pruned = prunedBelow(chain, 272)
    let walked = false
    const { verdict } = ask(chain, query, (call) => {
      walked ||= isBody(call)
      return walked ? chain.answer(call) : pruned(call)
    })
    expect(await verdict).toMatchObject(UNSURE)
  })
})
