import type { Address, Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  type History,
  hashOf,
  isBody,
  isByHash,
  isCount,
  numberIn,
  rpcFailure,
  scriptedChain,
  scriptedPort,
  type Use,
} from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'
import {
  ADDRESS,
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
    const own = hashOf('own', 0, 2)
    expect(await verdict).toEqual({ kind: 'own', hash: own, block, beside: [hashOf('stranger', 19), own] })
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

  it.each([1, 2])(
    'takes counts that are %i too high for no CREATE of a delegated account: its own body contradicts them',
    async (by) => {
      const code: Hex = `0xef0100${'12'.repeat(20)}`
      const both = { 18: [mine(0), mine(1)] }
      const second = { 10: [mine(0)], 18: [mine(1)] }
      for (const uses of [both, second] as Record<number, readonly Use[]>[]) {
        const history = Array.from({ length: 20 }, (_, number) => uses[number] ?? [])
        const delegated = scriptedChain(ADDRESS, history, { id: 0, forkedAt: 0, code })
        const ahead = (call: RpcCall): RpcReply => {
          const reply = delegated.answer(call)
          return isCount(call) && reply.ok
            ? { ok: true, result: `0x${(Number(reply.result) + by).toString(16)}` }
            : reply
        }
        for (const to of [18, 19])
          expect((await ask(delegated, { nonce: 2, from: 17, to }, ahead).verdict).kind).toMatch(NOTHING)
      }
    },
  )

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

  it('asks once for the counts at the newest block and at its parent', async () => {
    const chain = chainWith(20, { 10: [foreign(0)] })
    const { port, verdict } = ask(chain, { nonce: 0, from: 5, to: 19 })
    expect(await verdict).toMatchObject({ kind: 'other', block: { number: 10 } })
    const newest = port.batches.map((calls) => calls.filter((call) => isCount(call) && numberIn(call) >= 18))
    expect(newest.map(({ length }) => length)).toEqual([2, ...newest.slice(1).map(() => 0)])
  })

  it('finds the own attempt of long ago', async () => {
    const long = chainWith(3_000, { 1234: [mine(0), mine(1)], 2000: [foreign(2)] })
    const block = { number: 1_234, hash: long.blockHash(1_234) }
    const own = { kind: 'own', hash: mine(1), block, beside: [hashOf('stranger', 1_234), mine(0), mine(1)] }
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
