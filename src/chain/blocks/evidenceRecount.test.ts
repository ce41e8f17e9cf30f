import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  isBody,
  isByHash,
  isCount,
  numberIn,
  rpcFailure,
  type ScriptedChain,
  scriptedChain,
  scriptedPort,
  type Use,
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
  own,
  signatures,
  UNREADABLE,
  UNSURE,
} from './evidenceAsk.fixture.js'
import { readEvidence } from './nonceEvidence.js'

const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }
const NULL: RpcReply = { ok: true, result: null }
const PRUNED = rpcFailure(4444, 'pruned history unavailable')

/** Every count is this many too high, so that the body that the counts point to holds nothing. */
const ahead =
  (chain: ScriptedChain, by: number, body: (number: number) => RpcReply | undefined = () => undefined) =>
  (call: RpcCall): RpcReply => {
    const reply = chain.answer(call)
    if (isBody(call)) return body(numberIn(call)) ?? reply
    if (!isCount(call) || !reply.ok) return reply
    return { ok: true, result: `0x${(Number(reply.result) + by).toString(16)}` }
  }

/** The newest bodies are read upwards from `from` on, 32 of them at most. */
describe('counts that have misled the search', () => {
  it('are held against the newest 32 bodies, from the lowest to the newest', async () => {
    const used = (at: number, use: Use) => chainWith(100, { 20: [mine(0)], [at]: [use] })
    for (const at of [68, 69, 75, 76, 83, 84, 99]) {
      const query = { nonce: 1, from: 30, to: 99 }
      const chain = used(at, foreign(1))
      const block = { number: at, hash: chain.blockHash(at) }
      expect(await ask(chain, query, ahead(chain, 5)).verdict, `${at}`).toMatchObject({
        kind: 'other',
        block,
      })
      const ours = used(at, mine(1))
      expect(await ask(ours, query, ahead(ours, 5)).verdict).toMatchObject({ kind: 'own', hash: mine(1) })
    }
    // The newest body may be the only one of its request.
    const newest = used(99, foreign(1))
    const fromNinetyFive = (call: RpcCall) =>
      isCount(call) && numberIn(call) < 95 ? newest.answer(call) : ahead(newest, 5)(call)
    expect(await ask(newest, { nonce: 1, from: 91, to: 99 }, fromNinetyFive).verdict).toMatchObject({
      kind: 'other',
    })
    const below = used(67, foreign(1))
    expect(await ask(below, { nonce: 1, from: 30, to: 99 }, ahead(below, 5)).verdict).toMatchObject(UNSURE)
  })

  it('are not held against bodies below the block that the account had not passed the nonce in', async () => {
    const chain = chainWith(100, { 92: [mine(0)] })
    const { port, verdict } = ask(chain, { nonce: 1, from: 90, to: 99 }, ahead(chain, 5))
    expect(await verdict).toEqual({ kind: 'refuted', claimed: 6, shown: 1 })
    const read = port.batches.filter((calls) => calls.every(isBody)).flatMap((calls) => calls.map(numberIn))
    expect(read).toEqual([90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
  })

  it('are refuted where the bodies show the account at the nonce or below it, and not above it', async () => {
    const query = { from: 90, to: 99 }
    const chain = chainWith(100, { 95: [mine(0), mine(1)] })
    const shown = { kind: 'refuted', shown: 2 }
    expect(await ask(chain, { ...query, nonce: 2 }, ahead(chain, 5)).verdict).toMatchObject(shown)
    expect(await ask(chain, { ...query, nonce: 3 }, ahead(chain, 5)).verdict).toMatchObject(shown)
    // It was used long before.
    expect(
      await ask(chain, { ...query, nonce: 0, own: () => new Set() }, ahead(chain, 5)).verdict,
    ).toMatchObject({
      kind: 'other',
    })
    const later = chainWith(100, { 20: [mine(0)], 95: [mine(1)] })
    expect(await ask(later, { ...query, nonce: 0 }, ahead(later, 5)).verdict).toMatchObject(UNSURE)
    const quiet = chainWith(100, { 20: [mine(0)] })
    expect(await ask(quiet, { ...query, nonce: 1 }, ahead(quiet, 5)).verdict).toMatchObject(UNSURE)
  })

  it('are not refuted while one of the bodies cannot be had: the nonce may be used in it', async () => {
    const chain = chainWith(100, { 91: [mine(0)], 95: [foreign(1)] })
    const query = { nonce: 1, from: 90, to: 99 }
    for (const [reply, kind] of [
      [SILENT, 'unsure'],
      [NULL, 'unreadable'],
      [PRUNED, 'unreadable'],
    ] as const) {
      const without = ahead(chain, 5, (number) => (number === 95 ? reply : undefined))
      expect(await ask(chain, query, without).verdict).toMatchObject({ kind })
    }
    const missing = ahead(chain, 5, (number) => (number === 93 ? NULL : undefined))
    const why = 'the body of block 93 is missing'
    expect(await ask(chain, query, missing).verdict).toEqual({ kind: 'unreadable', why })
  })

  it('are held against the bodies also where the body that they point to cannot be had', async () => {
    const chain = chainWith(100, { 91: [mine(0)], 93: [foreign(1)] })
    for (const reply of [SILENT, NULL, PRUNED]) {
      const without = ahead(chain, 5, (number) => (number === 99 ? reply : undefined))
      const { verdict } = ask(chain, { nonce: 1, from: 90, to: 99 }, without)
      expect(await verdict, JSON.stringify(reply)).toMatchObject({ kind: 'other', block: { number: 93 } })
    }
  })

  it('are not refuted for an account that is delegated, or of which that is not known', async () => {
    const history = Array.from({ length: 20 }, (_, number) => (number === 12 ? [mine(0)] : []))
    const at = (code: Hex) => scriptedChain(ADDRESS, history, { id: 0, forkedAt: 0, code })
    const query = { nonce: 1, from: 11, to: 19 }
    const delegated = at(`0xef0100${'12'.repeat(20)}`)
    expect(await ask(delegated, query, ahead(delegated, 5)).verdict).toMatchObject(UNSURE)
    const plain = at('0x')
    const silent = (call: RpcCall) => (call.method === 'eth_getCode' ? SILENT : ahead(plain, 5)(call))
    expect(await ask(plain, query, silent).verdict).toMatchObject(UNSURE)
    expect(await ask(plain, query, ahead(plain, 5)).verdict).toMatchObject({ kind: 'refuted' })
    const scripted = scriptedPort(ahead(plain, 5))
    const batch = async (calls: readonly RpcCall[]) =>
      calls.some(({ method }) => method === 'eth_getCode') ? [] : scripted.batch(calls)
    const full = { ...query, address: ADDRESS, own, isOwn, signatures } as const
    expect(await readEvidence({ ...scripted, batch }, full)).toMatchObject(UNSURE)
  })

  it('and pass the nonce in every block: the newest body is looked at first', async () => {
    const chain = chainWith(20, { 19: [foreign(0)] })
    const { verdict } = ask(chain, { nonce: 0, from: 15, to: 19, isFirst: true }, ahead(chain, 5))
    expect(await verdict).toMatchObject({ kind: 'other', block: { number: 19 } })
  })
})

describe('bodies where old state is not served', () => {
  const pruned =
    (chain: ScriptedChain, below: number, body: (number: number) => RpcReply | undefined = () => undefined) =>
    (call: RpcCall): RpcReply => {
      if (isBody(call)) return body(numberIn(call)) ?? chain.answer(call)
      return isCount(call) && !isByHash(call) && numberIn(call) < below ? PRUNED : chain.answer(call)
    }
  const first = (query: Ask) => ({ ...query, isFirst: true })

  it('that are refused themselves are passed over: those after them may be served', async () => {
    const chain = chainWith(100, { 20: [foreign(0)] })
    const refusedBelow = pruned(chain, 80, (number) => (number < 15 ? PRUNED : undefined))
    const query = first({ nonce: 0, from: 10, to: 99 })
    expect(await ask(chain, query, refusedBelow).verdict).toMatchObject({
      kind: 'other',
      block: { number: 20 },
    })
  })

  it('are read upwards no further than a higher nonce of the account, and then downwards to a lower one', async () => {
    const chain = chainWith(100, { 18: [mine(0)], 20: [null], 40: [mine(2)] })
    const { port, verdict } = ask(chain, first({ nonce: 1, from: 30, to: 99 }), pruned(chain, 80))
    expect(await verdict).toMatchObject(UNREADABLE)
    const read = port.batches.flat().filter(isBody).map(numberIn)
    const rounds = (numbers: readonly number[]) => [Math.min(...numbers), Math.max(...numbers)]
    expect(rounds(read.filter((number) => number > 30))).toEqual([31, 46])
    expect(rounds(read.filter((number) => number <= 30))).toEqual([15, 30])
  })

  it('are asked for one by one where several are not answered, up to the first that is not', async () => {
    const chain = chainWith(100, { 20: [foreign(0)] })
    const port = (silent: number, together: (calls: readonly RpcCall[]) => readonly RpcReply[]) => {
      const scripted = scriptedPort(pruned(chain, 80, (number) => (number === silent ? SILENT : undefined)))
      const batch = async (calls: readonly RpcCall[]) => {
        const replies = await scripted.batch(calls)
        return calls.filter(isBody).length > 1 ? together(calls) : replies
      }
      return { ...scripted, batch }
    }
    const query = {
      ...first({ nonce: 0, from: 15, to: 99 }),
      address: ADDRESS,
      own,
      isOwn,
      signatures,
    } as const
    const allSilent = (calls: readonly RpcCall[]) => calls.map(() => SILENT)
    for (const together of [allSilent, () => []])
      expect(await readEvidence(port(22, together), query)).toMatchObject({
        kind: 'other',
        block: { number: 20 },
      })
    const cut = port(18, allSilent)
    expect((await readEvidence(cut, query)).kind).toMatch(NOTHING)
    const alone = cut.batches.filter((calls) => calls.length === 1 && calls.every(isBody)).flat()
    expect(alone.map(numberIn)).toEqual([16, 17, 18])
  })

  it('are looked for below the head alone where only its state is served', async () => {
    const chain = chainWith(100, { 95: [foreign(0)] })
    const { port, verdict } = ask(chain, first({ nonce: 0, from: 90, to: 99 }), pruned(chain, 99))
    expect(await verdict).toMatchObject({ kind: 'other', block: { number: 95 } })
    expect(port.batches.flat().filter((call) => isCount(call) && numberIn(call) < 98)).toEqual([])
  })
})
