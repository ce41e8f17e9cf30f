import fc from 'fast-check'
import type { Address, Hash } from 'viem'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../../test/support/runsOf.js'
import {
  blockHashOf,
  type History,
  hashOf,
  rpcFailure,
  scriptedChain,
  scriptedPort,
} from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { Signatures } from '../../rpc/signatures.js'
import { type EvidenceVerdict, type ReadEvidenceQuery, readEvidence } from './nonceEvidence.js'

const ADDRESS = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
const mine = (nonce: number) => hashOf('own', nonce)
const own = (nonce: number) => new Set([mine(nonce)])
const isOwn = (hash: Hash) => hash.startsWith('0xa')
/** Stands in for signatures: every sender that the endpoint names has signed. */
const signatures: Signatures = {
  signerOf: async ({ from }) => from as Address,
  authorityOf: async () => undefined,
}

const isCount = (call: RpcCall) => call.method === 'eth_getTransactionCount'
const isByHash = (call: RpcCall) => blockHashOf(call.params[1]) !== undefined
const numberIn = (call: RpcCall) => Number(call.params[1])

type Ask = Partial<ReadEvidenceQuery> & Pick<ReadEvidenceQuery, 'nonce' | 'from' | 'to'>

function ask(query: Ask, answer: Parameters<typeof scriptedPort>[0]): Promise<EvidenceVerdict> {
  return readEvidence(scriptedPort(answer), { address: ADDRESS, own, isOwn, signatures, ...query })
}

const NOTHING: ReadonlySet<string> = new Set(['unsure', 'unreadable'])

describe('readEvidence against any chain', () => {
  type Kind = 'own' | 'foreign' | 'bump'
  const kinds = fc.constantFrom<Kind>('own', 'foreign', 'bump')
  const blocks = (length: number) =>
    fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(kinds, { maxLength: 3 })), {
      minLength: length,
      maxLength: length,
    })

  function historyOf(all: readonly (readonly Kind[])[], fork: number): History {
    let nonce = 0
    return all.map((uses) =>
      uses.map((kind) => {
        const at = nonce++
        if (kind === 'bump') return null
        return kind === 'own' ? mine(at) : hashOf('foreign', at, fork)
      }),
    )
  }

  const usesOf = (history: History) => history.flatMap((uses, block) => uses.map((use) => ({ use, block })))

  it('gives true verdicts on a chain that does not move, pruned or not', async () => {
    const worlds = fc.record({
      all: blocks(40),
      nonce: fc.nat(30),
      from: fc.nat(39),
      to: fc.integer({ min: 20, max: 39 }),
      servedFrom: fc.oneof(fc.constant(0), fc.nat(19)),
    })
    await fc.assert(
      fc.asyncProperty(worlds, async ({ all, nonce, from, to, servedFrom }) => {
        const history = historyOf(all, 0)
        const chain = scriptedChain(ADDRESS, history)
        const reported = await ask({ nonce, from, to, chainId: 1 }, (call) =>
          isCount(call) && !isByHash(call) && numberIn(call) < servedFrom
            ? rpcFailure(-32000, 'missing trie node')
            : chain.answer(call),
        )
        const found = usesOf(history)[nonce]
        if (found === undefined || found.block > to) {
          expect(reported).toEqual({ kind: 'notUsed' })
          return
        }
        if (reported.kind === 'refuted' || NOTHING.has(reported.kind)) {
          // Counted without a trace in any body, or beyond the state that is served.
          const traceless = usesOf(history)
            .slice(0, nonce + 1)
            .some(({ use }) => use === null)
          expect(traceless || found.block <= servedFrom).toBe(true)
          return
        }
        expect(reported.kind).toBe(found.use === mine(nonce) ? 'own' : 'other')
        expect(reported).toMatchObject({ block: { number: found.block, hash: chain.blockHash(found.block) } })
      }),
      { numRuns: runsOf(500) },
    )
  })

  const forks = fc.record({
    shared: blocks(6),
    tails: fc.tuple(blocks(6), blocks(6)),
    nonce: fc.nat(8),
    from: fc.nat(11),
    servedFrom: fc.oneof(fc.constant(0), fc.nat(11)),
  })

  type Blocks = readonly (readonly Kind[])[]

  function twoForks({ shared, tails }: { shared: Blocks; tails: readonly [Blocks, Blocks] }) {
    return tails.map((tail, id) => {
      const history = historyOf([...shared, ...tail], id)
      return { history, chain: scriptedChain(ADDRESS, history, { id, forkedAt: 6 }) }
    })
  }

  /** A verdict about a block is true on the fork of that block. */
  function expectTrue(reported: EvidenceVerdict, nonce: number, sides: ReturnType<typeof twoForks>): void {
    if (reported.kind !== 'own' && reported.kind !== 'other') return
    const side = sides.find(({ chain }) => chain.numberOf(reported.block.hash) === reported.block.number)
    const uses = usesOf(side?.history ?? [])
    const nonces = reported.kind === 'other' ? reported.witnesses.map((witness) => witness.nonce) : [nonce]
    expect(nonces[0]).toBe(nonce)
    for (const each of nonces) {
      expect(uses[each]?.block).toBe(reported.block.number)
      expect(uses[each]?.use === mine(each)).toBe(reported.kind === 'own')
    }
  }

  it('never claims a use by others that did not happen, for any counts', async () => {
    const worlds = fc.record({
      all: blocks(20),
      nonce: fc.nat(12),
      from: fc.nat(19),
      lies: fc.array(fc.integer({ min: -4, max: 9 }), { minLength: 32, maxLength: 32 }),
      isFirst: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(worlds, async ({ all, nonce, from, lies, isFirst }) => {
        const history = historyOf(all, 0)
        const chain = scriptedChain(ADDRESS, history)
        const reported = await ask({ nonce, from, to: 19, isFirst }, (call, at) => {
          const reply = chain.answer(call)
          const lie = lies[at.call % lies.length] ?? 0
          if (!isCount(call) || !reply.ok) return reply
          return { ok: true, result: `0x${Math.max(0, Number(reply.result) + lie).toString(16)}` }
        })
        const found = usesOf(history)[nonce]
        if (reported.kind === 'own') expect(found?.use).toBe(mine(nonce))
        if (reported.kind === 'other') expect(found?.use).toBe(hashOf('foreign', nonce, 0))
        if (reported.kind === 'refuted' && !history.flat().includes(null)) {
          expect(found).toBeUndefined()
          expect(reported.shown).toBe(history.flat().length)
        }
      }),
      { numRuns: runsOf(1_000) },
    )
  })

  it('is true on the fork of its block, for any fork that answers each single call', async () => {
    const worlds = fc.record({
      world: forks,
      keepsForks: fc.boolean(),
      sides: fc.array(fc.nat(1), { minLength: 40, maxLength: 40 }),
    })
    await fc.assert(
      fc.asyncProperty(worlds, async ({ world, keepsForks, sides }) => {
        const both = twoForks(world)
        const reported = await ask({ ...world, to: 11 }, (call, at) => {
          if (isCount(call) && !isByHash(call) && numberIn(call) < world.servedFrom)
            return rpcFailure(-32000, 'pruned')
          const first = (sides[at.call % sides.length] ?? 0) === 0
          const [here, there] = first ? [both[0], both[1]] : [both[1], both[0]]
          const reply = here?.chain.answer(call) as RpcReply
          // A node may keep the blocks of forks for a while: then it answers any block named by hash.
          return keepsForks && isByHash(call) && !reply.ok ? (there?.chain.answer(call) as RpcReply) : reply
        })
        expectTrue(reported, world.nonce, both)
      }),
      { numRuns: runsOf(2_000) },
    )
  })

  it('is true when the chain moves once, at any call and in any order of a batch, without block hashes', async () => {
    const worlds = fc.record({
      world: forks,
      batch: fc.nat(5),
      late: fc.array(fc.boolean(), { minLength: 17, maxLength: 17 }),
    })
    await fc.assert(
      fc.asyncProperty(worlds, async ({ world, batch, late }) => {
        const both = twoForks(world)
        const reported = await ask({ ...world, to: 11 }, (call, at) => {
          if (isByHash(call)) return rpcFailure(-32602, 'invalid params')
          if (isCount(call) && numberIn(call) < world.servedFrom) return rpcFailure(-32000, 'pruned')
          const moved = at.batch > batch || (at.batch === batch && (late[at.inBatch] ?? false))
          return both[moved ? 1 : 0]?.chain.answer(call) as RpcReply
        })
        expectTrue(reported, world.nonce, both)
      }),
      { numRuns: runsOf(2_000) },
    )
  })
})
