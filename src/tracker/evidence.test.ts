import type { Address, Hash, Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  type History,
  hashOf,
  isBody,
  isByHash,
  isCount,
  numberIn,
  rpcFailure,
  type ScriptedChain,
  scriptedChain,
  scriptedPort,
  type Use,
} from '../../test/support/scriptedChain.js'
import type { RpcCall, RpcFailure, RpcReply } from '../rpc/port.js'
import type { Signatures } from '../rpc/signatures.js'
import { type ReadEvidenceQuery, readEvidence } from './evidence.js'

const ADDRESS = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
const own = (nonce: number) => new Set([hashOf('own', nonce, 1), hashOf('own', nonce, 2)])
const mine = (nonce: number) => hashOf('own', nonce, 1)
const foreign = (nonce: number) => hashOf('foreign', nonce)
const UNSURE = { kind: 'unsure' }
const NOTHING = /^(unsure|unreadable)$/
const UNREADABLE = { kind: 'unreadable' }
/** The stand-in for a signature here: whoever the endpoint names has signed. */
const signatures: Signatures = {
  signerOf: async ({ from }) => from as Address,
  authorityOf: async () => undefined,
}
const isOwn = (hash: Hash) => hash.startsWith('0xa')
const one = (nonce: number) => [{ nonce, hash: foreign(nonce) }]

/** A chain of `length` blocks in which the account did something in a few. */
function chainWith(length: number, uses: Record<number, readonly Use[]>): ScriptedChain {
  return scriptedChain(
    ADDRESS,
    Array.from({ length }, (_, number) => uses[number] ?? []),
  )
}

type Ask = Partial<ReadEvidenceQuery> & Pick<ReadEvidenceQuery, 'nonce' | 'from' | 'to'>

function ask(chain: ScriptedChain, query: Ask, answer: Parameters<typeof scriptedPort>[0] = chain.answer) {
  const port = scriptedPort(answer)
  return { port, verdict: readEvidence(port, { address: ADDRESS, own, isOwn, signatures, ...query }) }
}

describe('readEvidence while online', () => {
  const used = chainWith(20, { 5: [mine(0), mine(1)], 19: [foreign(2)] })
  const query = { nonce: 2, from: 18, to: 19 }

  it('proves a foreign use in the newest block and names its transaction', async () => {
    const { port, verdict } = ask(used, query)
    const block = { number: 19, hash: used.blockHash(19) }
    expect(await verdict).toEqual({ kind: 'other', witnesses: one(2), block })
    expect(port.batches[0]?.map((call) => [call.method, call.params.at(-2), call.params.at(-1)])).toEqual([
      ['eth_getBlockByNumber', '0x13', false],
      ['eth_getTransactionCount', ADDRESS, '0x13'],
      ['eth_getTransactionCount', ADDRESS, '0x12'],
    ])
    expect(port.batches.length).toBe(3)
  })

  it('finds an own attempt that the walk missed', async () => {
    const missed = chainWith(20, { 19: [hashOf('own', 0, 2)] })
    const { port, verdict } = ask(missed, { nonce: 0, from: 18, to: 19 })
    const block = { number: 19, hash: missed.blockHash(19) }
    expect(await verdict).toEqual({ kind: 'own', hash: hashOf('own', 0, 2), block })
    expect(port.batches.length).toBe(3)
  })

  it('has nothing to explain while the count has not passed the nonce, in one request', async () => {
    const { port, verdict } = ask(used, { ...query, nonce: 3 })
    expect(await verdict).toEqual({ kind: 'notUsed' })
    expect(port.batches.length).toBe(1)
  })

  it('proves nothing from counts alone: a use without a trace in a body is no use by others', async () => {
    const bumped = chainWith(20, { 18: [mine(0), null] })
    for (const to of [18, 19]) {
      const verdict = { kind: 'refuted', claimed: 2, shown: 1 }
      expect(await ask(bumped, { nonce: 1, from: 17, to }).verdict).toEqual(verdict)
    }
  })

  it('takes it for a CREATE where the account is delegated, in the words of this endpoint', async () => {
    const history = Array.from({ length: 20 }, (_, number) => (number === 18 ? [mine(0), null] : []))
    const code: Hex = `0xef0100${'12'.repeat(20)}`
    const delegated = scriptedChain(ADDRESS, history, { id: 0, forkedAt: 0, code })
    const block = { number: 18, hash: delegated.blockHash(18) }
    const query = { nonce: 1, from: 17, to: 19 }
    expect(await ask(delegated, query).verdict).toEqual({ kind: 'created', block })
    // Its own counts by hash deny it.
    const { verdict } = ask(delegated, query, (call) =>
      isByHash(call) ? { ok: true, result: '0x1' } : delegated.answer(call),
    )
    expect(await verdict).toMatchObject(UNSURE)
  })

  it('shows all nonces that the body has witnesses for, up to one that an own attempt used', async () => {
    const burst = chainWith(20, { 18: [foreign(0), foreign(1), mine(2), foreign(3)] })
    for (const to of [18, 19]) {
      const { verdict } = ask(burst, { nonce: 0, from: 17, to })
      expect(await verdict).toMatchObject({ kind: 'other', witnesses: [...one(0), ...one(1)] })
    }
  })

  it('names the count that the bodies show where the endpoint claims a higher one', async () => {
    const quiet = chainWith(20, { 15: [mine(0), mine(1)] })
    const ahead = (call: RpcCall): RpcReply => {
      const reply = quiet.answer(call)
      return isCount(call) && reply.ok
        ? { ok: true, result: `0x${(Number(reply.result) + 5).toString(16)}` }
        : reply
    }
    const query = { nonce: 2, from: 14, to: 19 }
    expect(await ask(quiet, query, ahead).verdict).toEqual({ kind: 'refuted', claimed: 7, shown: 2 })
    // At the first look what is not shown may only lag: no further bodies are read.
    const { port, verdict } = ask(quiet, { ...query, isFirst: true }, ahead)
    expect(await verdict).toMatchObject(UNSURE)
    expect(port.batches.flat().filter(isBody).length).toBeLessThanOrEqual(1)
  })

  it('finds the witness where the counts point to another block: those of two blocks later, or of the newest', async () => {
    const late = chainWith(20, { 10: [mine(0)], 14: [foreign(1)] })
    const block = { number: 14, hash: late.blockHash(14) }
    for (const wrong of [(number: number) => Math.min(19, number + 2), () => 19]) {
      const { verdict } = ask(late, { nonce: 1, from: 9, to: 19 }, (call) =>
        isCount(call) && !isByHash(call)
          ? { ok: true, result: `0x${late.countAt(wrong(numberIn(call))).toString(16)}` }
          : late.answer(call),
      )
      expect(await verdict).toEqual({ kind: 'other', witnesses: one(1), block })
    }
  })

  it('takes a body that contradicts its header, or a transaction that its sender has not signed, for none', async () => {
    const used = chainWith(20, { 19: [foreign(0)] })
    const query = { nonce: 0, from: 18, to: 19 }
    const empty = (call: RpcCall): RpcReply => {
      const reply = used.answer(call)
      return isBody(call) && reply.ok
        ? { ok: true, result: { ...(reply.result as object), transactions: [] } }
        : reply
    }
    expect(await ask(used, query, empty).verdict).toMatchObject(UNREADABLE)
    const forged = {
      ...query,
      signatures: { ...signatures, signerOf: async (): Promise<Address> => `0x${'77'.repeat(20)}` },
    }
    expect(await ask(used, forged).verdict).toMatchObject(UNREADABLE)
  })

  it('concludes the same where the node does not take block hashes', async () => {
    for (const refusal of [
      rpcFailure(-32602, 'invalid params'),
      rpcFailure(-32000, 'json: cannot unmarshal object into Go value of type string'),
    ]) {
      const { verdict } = ask(used, query, (call) => (isByHash(call) ? refusal : used.answer(call)))
      expect(await verdict).toMatchObject({ kind: 'other', witnesses: one(2) })
    }
  })

  it('splits what it asks to the size that an endpoint takes', async () => {
    const { port, verdict } = ask(used, { ...query, batchMax: 2 })
    expect(await verdict).toMatchObject({ kind: 'other', witnesses: one(2) })
    expect(Math.max(...port.batches.map((calls) => calls.length))).toBe(2)
  })
})

describe('readEvidence when answers fail or contradict each other', () => {
  const used = chainWith(20, { 19: [foreign(0)] })
  const query = { nonce: 0, from: 18, to: 19 }
  // Later looks read more bodies, and would find it there.
  const first = { ...query, isFirst: true }
  const failures: RpcFailure[] = [
    { kind: 'timeout', message: 'no answer' },
    { kind: 'network', message: 'reset' },
    { kind: 'malformed', message: 'not JSON' },
    { kind: 'aborted', message: 'closed' },
    { kind: 'http', status: 503, message: 'unavailable' },
    { kind: 'custom', message: 'rejected', cause: new Error('rejected') },
  ]

  it('concludes nothing whichever needed call fails, and however', async () => {
    // The head and its counts; the body; the block and the head once more. The count beside the body proves nothing.
    const needed = [0, 1, 2, 3, 5, 6]
    for (const failure of failures) {
      for (const failing of needed) {
        const { verdict } = ask(used, first, (call, at) =>
          at.call === failing ? { ok: false, failure } : used.answer(call),
        )
        expect((await verdict).kind, `${failure.kind} at call ${failing}`).toMatch(NOTHING)
      }
    }
  })

  it('concludes nothing from null and from answers that cannot be decoded', async () => {
    for (const result of [null, undefined, 'x', 12, {}, []]) {
      for (const failing of [0, 1, 2, 3, 5, 6]) {
        const { verdict } = ask(used, first, (call, at) =>
          at.call === failing ? { ok: true, result } : used.answer(call),
        )
        expect((await verdict).kind, `${JSON.stringify(result)} at call ${failing}`).toMatch(NOTHING)
      }
    }
  })

  it('concludes nothing when the answers are fewer than the calls', async () => {
    const port = {
      ...scriptedPort(used.answer),
      batch: async () => [used.answer({ method: 'eth_chainId', params: [] })],
    }
    expect(await readEvidence(port, { address: ADDRESS, own, isOwn, signatures, ...query })).toMatchObject(
      UNSURE,
    )
  })

  it('concludes nothing when the two readings of the block show different blocks', async () => {
    const forked = scriptedChain(ADDRESS, used19([mine(0)]), { id: 1, forkedAt: 19 })
    // The body first, and then the block once more, beside the head.
    const { verdict } = ask(used, first, (call, at) => (at.call === 5 ? forked : used).answer(call))
    expect(await verdict).toMatchObject(UNSURE)
  })

  it('concludes nothing when the counts of one fork meet the blocks of another', async () => {
    // The nonce is not used on the fork whose blocks are read: to send again would execute twice.
    const empty = scriptedChain(ADDRESS, used19([]), { id: 1, forkedAt: 19 })
    const { verdict } = ask(used, query, (call) =>
      (isCount(call) && !isByHash(call) ? used : empty).answer(call),
    )
    expect(await verdict).toMatchObject(UNSURE)
  })

  it('believes the body when the parent count is that of another fork', async () => {
    // On the chain read, our own attempt used the nonce one block earlier.
    const ours = chainWith(20, { 18: [mine(0)], 19: [mine(1)] })
    const { verdict } = ask(ours, query, (call) =>
      isCount(call) && numberIn(call) === 18 ? used.answer(call) : ours.answer(call),
    )
    expect(await verdict).toMatchObject({ kind: 'own', hash: mine(0) })
  })

  it('concludes nothing when the endpoint is on another fork than the walk, at the block or at the head', async () => {
    for (const number of [18, 19, 25]) {
      const long = chainWith(26, { 19: [foreign(0)] })
      const walk = {
        ...query,
        to: 25,
        hashAt: (asked: number) => (asked === number ? hashOf('block', 9, 9) : undefined),
      }
      expect((await ask(long, walk).verdict).kind).toMatch(NOTHING)
      const same = { ...walk, hashAt: (asked: number) => (asked <= 25 ? long.blockHash(asked) : undefined) }
      expect(await ask(long, same).verdict).toMatchObject({ kind: 'other' })
    }
  })

  it('concludes nothing from an endpoint on another chain', async () => {
    expect(await ask(used, { ...query, chainId: 1 }).verdict).toMatchObject({ kind: 'other' })
    expect(await ask(used, { ...query, chainId: 2 }).verdict).toMatchObject(UNSURE)
  })

  function used19(uses: readonly Use[]): History {
    return Array.from({ length: 20 }, (_, number) => (number === 19 ? uses : []))
  }
})

describe('readEvidence after a restart', () => {
  it('goes down to the block that used the nonce, several counts a request', async () => {
    const long = chainWith(20_000, {
      3: [mine(0)],
      12345: [foreign(1)],
      15000: [foreign(2)],
      19000: [mine(3)],
    })
    const { port, verdict } = ask(long, { nonce: 1, from: 10, to: 19_999 })
    const block = { number: 12_345, hash: long.blockHash(12_345) }
    expect(await verdict).toEqual({ kind: 'other', witnesses: one(1), block })
    expect(port.batches.length).toBeLessThanOrEqual(8)
  })

  it('finds the own attempt of long ago', async () => {
    const long = chainWith(3_000, { 1234: [mine(0), mine(1)], 2000: [foreign(2)] })
    const own = { kind: 'own', hash: mine(1), block: { number: 1_234, hash: long.blockHash(1_234) } }
    expect(await ask(long, { nonce: 1, from: 100, to: 2_999 }).verdict).toEqual(own)
  })

  it('goes lower than the block believed in when the belief is wrong', async () => {
    const long = chainWith(3_000, { 7: [foreign(0)], 2000: [mine(1)] })
    const block = { number: 7, hash: long.blockHash(7) }
    for (const from of [2_999, 2_998, 1_500, 8, 7, -1]) {
      expect(await ask(long, { nonce: 0, from, to: 2_999 }).verdict).toMatchObject({ kind: 'other', block })
    }
  })

  it('finds no evidence of a nonce that the account had when the chain began', async () => {
    const seeded = chainWith(50, { 0: [null, null] })
    expect(await ask(seeded, { nonce: 1, from: 40, to: 49 }).verdict).toMatchObject(UNSURE)
    expect(await ask(seeded, { nonce: 1, from: 0, to: 0 }).verdict).toMatchObject(UNSURE)
    expect(await ask(seeded, { nonce: 2, from: 0, to: 0 }).verdict).toEqual({ kind: 'notUsed' })
  })
})

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
    expect(await verdict).toEqual({ kind: 'own', hash: mine(1), block })
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
