import type { Address, Hex } from 'viem'
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
  type Use,
} from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import {
  ADDRESS,
  type Ask,
  ask,
  chainWith,
  foreign,
  mine,
  signatures,
  UNSURE,
} from './evidenceAsk.fixture.js'

const DELEGATED: Hex = `0xef0100${'12'.repeat(20)}`
const NO_WITNESS =
  'the count has passed the nonce, but no body that was read shows the transaction that used it'
const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }
const quantity = (value: number): RpcReply => ({ ok: true, result: `0x${value.toString(16)}` })

type Answer = (call: RpcCall) => RpcReply
/** `isLater`: the body was read in an earlier request. */
type Answers = (call: RpcCall, isLater: boolean) => RpcReply | undefined

/** The chain, with other fields for one of its transactions in bodies. */
const showing =
  (chain: ScriptedChain, hash: Hex, fields: object): Answer =>
  (call) => {
    const reply = chain.answer(call)
    if (!isBody(call) || !reply.ok) return reply
    const block = reply.result as { transactions: readonly { hash: Hex }[] }
    const transactions = block.transactions.map((one) => (one.hash === hash ? { ...one, ...fields } : one))
    return { ok: true, result: { ...block, transactions } }
  }

/** Each tuple names its signer instead of a signature. */
const bySigner = {
  ...signatures,
  authorityOf: async (tuple: unknown) => (tuple as { by?: Address }).by,
}
const tuple = (nonce: number) => ({ chainId: '0x0', nonce: `0x${nonce.toString(16)}`, by: ADDRESS })
const TUPLES = (...nonces: readonly number[]) => ({ type: '0x4', authorizationList: nonces.map(tuple) })

/** The verdict on nonce 1, which block 15 of 20 has used. */
function reported(
  chain: ScriptedChain,
  answer: Answer,
  answers: Answers = () => undefined,
  over?: Partial<Ask>,
) {
  const query = { nonce: 1, from: 14, to: 19, isFirst: true, signatures: bySigner, ...over }
  let bodyRead = Number.POSITIVE_INFINITY
  return ask(chain, query, (call, { batch }) => {
    if (isBody(call)) bodyRead = batch
    return answers(call, batch > bodyRead) ?? answer(call)
  }).verdict
}

const used = (...uses: readonly Use[]) => chainWith(20, { 10: [mine(0)], 15: uses })
const isAt = (chain: ScriptedChain, number: number) => (call: RpcCall) =>
  isCount(call) &&
  (isByHash(call)
    ? (call.params[1] as { blockHash: Hex }).blockHash === chain.blockHash(number)
    : numberIn(call) === number)

describe('a use that is proven only together with counts around its block', () => {
  const deposited = used(foreign(1))
  const deposit = showing(deposited, foreign(1), { type: '0x7e' })
  const block = { number: 15, hash: deposited.blockHash(15) }

  it('is a deposit, in a block below the newest and in the newest', async () => {
    const witnesses = [{ nonce: 1, hash: foreign(1) }]
    expect(await reported(deposited, deposit)).toEqual({ kind: 'other', witnesses, block })
    const byNumber = (call: RpcCall) => (isByHash(call) ? rpcFailure(-32602, 'invalid params') : undefined)
    expect(await reported(deposited, deposit, byNumber)).toMatchObject({ kind: 'other', witnesses })
    expect(await reported(deposited, deposit, undefined, { to: 15 })).toEqual({
      kind: 'other',
      witnesses,
      block,
    })
  })

  it('is a tuple, and it is one of our own if our transaction in that block carries it', async () => {
    const chain = used(null)
    const stranger = hashOf('stranger', 15)
    const carried = showing(chain, stranger, TUPLES(1))
    const witnesses = [{ nonce: 1, hash: stranger }]
    expect(await reported(chain, carried)).toMatchObject({ kind: 'other', witnesses })
    const ours = { carriedIn: { number: 15, hash: chain.blockHash(15) } }
    expect(await reported(chain, chain.answer, undefined, ours)).toEqual({ kind: 'authorized', block })
  })

  it('is a tuple next to one of an already used nonce, which the chain has skipped', async () => {
    const chain = used(null)
    const stranger = hashOf('stranger', 15)
    const carried = showing(chain, stranger, TUPLES(0, 1))
    const witnesses = [{ nonce: 1, hash: stranger }]
    expect(await reported(chain, carried)).toMatchObject({ kind: 'other', witnesses })
  })

  it('proves nothing if a second reading of a count by number or by hash contradicts it or has no answer', async () => {
    const carrying = used(null)
    const ours = { carriedIn: { number: 15, hash: carrying.blockHash(15) } }
    const cases = [
      [deposited, deposit, undefined],
      [carrying, carrying.answer, ours],
    ] as const
    const denials = [
      { number: 14, count: 2 },
      { number: 15, count: 1 },
    ]
    for (const [chain, answer, over] of cases) {
      for (const { number, count } of denials) {
        for (const reply of [quantity(count), SILENT]) {
          for (const byHash of [true, false]) {
            const denied: Answers = (call, isLater) =>
              isLater && isAt(chain, number)(call) && isByHash(call) === byHash ? reply : undefined
            const what = `${JSON.stringify(reply)} at ${number}, ${byHash ? 'by hash' : 'by number'}`
            expect(await reported(chain, answer, denied, over), what).toMatchObject(UNSURE)
          }
        }
      }
    }
  })

  it('is not needed for a transaction of the account, which is a proof with any counts', async () => {
    const denied = (call: RpcCall) => (isByHash(call) ? quantity(0) : undefined)
    expect(await reported(deposited, deposited.answer, denied)).toMatchObject({ kind: 'other' })
  })
})

describe('a CREATE in delegated code', () => {
  const chain = used(null)
  const code = (at: Readonly<Record<number, RpcReply>>): Answers => {
    return ({ method, params }) => (method === 'eth_getCode' ? at[Number(params[1])] : undefined)
  }
  const delegated: RpcReply = { ok: true, result: DELEGATED }

  it('is believed if the account is delegated before the block or after it', async () => {
    for (const number of [14, 15]) {
      expect(await reported(chain, chain.answer, code({ [number]: delegated }))).toMatchObject({
        kind: 'created',
      })
    }
  })

  it('is not believed if that is unknown', async () => {
    for (const number of [14, 15])
      expect(await reported(chain, chain.answer, code({ [number]: SILENT }))).toMatchObject(UNSURE)
    expect(await reported(chain, chain.answer)).toMatchObject(UNSURE)
  })

  it('is believed if the delegation began and ended within the block, as its tuples show', async () => {
    const both = used(null, null)
    const answer = showing(both, hashOf('stranger', 15), TUPLES(1))
    expect(await reported(both, answer, undefined, { nonce: 2 })).toMatchObject({ kind: 'created' })
  })

  it("is impossible in the first block of the chain: the account's initial count is not a use", async () => {
    const seeded = scriptedChain(ADDRESS, [[null, null]], { id: 0, forkedAt: 0, code: DELEGATED })
    const query = { nonce: 1, from: 0, to: 0 }
    expect(await ask(seeded, query).verdict).toEqual({ ...UNSURE, why: NO_WITNESS })
  })
})
