import type { Address, Hash, Hex } from 'viem'
import { expect, test } from 'vitest'
import { hashOf, isBody, rpcFailure, scriptedPort } from '../../../test/support/scriptedChain.js'
import type { RpcReply } from '../../rpc/port.js'
import { ADDRESS, chainWith, foreign, isOwn, signatures } from './evidenceAsk.fixture.js'
import { readWitness } from './nonceEvidence.js'

const chain = chainWith(4, { 2: [foreign(0), foreign(1)], 3: [] })
const block = { number: 2, hash: chain.blockHash(2) }

type Shown = { readonly hash: Hash; readonly type?: string; readonly [field: string]: unknown }

/** Reads block 2 for a witness, with what the endpoint makes of its transactions. */
function read(
  witness: { nonce: number; hash: Hash },
  change: (all: readonly Shown[]) => readonly Shown[] = (all) => all,
) {
  const port = scriptedPort((call) => {
    const reply = chain.answer(call)
    if (!isBody(call) || !reply.ok) return reply
    const result = reply.result as { transactions: readonly Shown[] }
    return { ok: true, result: { ...result, transactions: change(result.transactions) } }
  })
  const authorityOf = async (tuple: unknown) => (tuple as { by?: Address }).by
  const query = { address: ADDRESS, isOwn, signatures: { ...signatures, authorityOf } } as const
  return readWitness(port, { ...query, block, witness })
}

const of = (hash: Hash, fields: object) => (all: readonly Shown[]) =>
  all.map((one) => (one.hash === hash ? { ...one, ...fields } : one))

test('a witness stands where its transaction is in the body and uses the nonce', async () => {
  expect(await read({ nonce: 0, hash: foreign(0) })).toBe('stands')
  expect(await read({ nonce: 1, hash: foreign(1) })).toBe('stands')
})

test('it is missing where another transaction uses the nonce, or that one uses another nonce', async () => {
  expect(await read({ nonce: 1, hash: foreign(0) })).toBe('missing')
  expect(await read({ nonce: 0, hash: hashOf('foreign', 9) })).toBe('missing')
})

test('a deposit, whose nonce no body shows, stands where it is in the body', async () => {
  const deposit = of(foreign(0), { type: '0x7e', nonce: undefined })
  expect(await read({ nonce: 0, hash: foreign(0) }, deposit)).toBe('stands')
})

test('of several tuples in one transaction any may be the witness', async () => {
  const tuple = (nonce: Hex) => ({ chainId: '0x0', nonce, by: ADDRESS })
  const carrier = of(foreign(1), { type: '0x4', authorizationList: [tuple('0x2'), tuple('0x3')] })
  for (const nonce of [1, 2, 3]) expect(await read({ nonce, hash: foreign(1) }, carrier)).toBe('stands')
  expect(await read({ nonce: 4, hash: foreign(1) }, carrier)).toBe('missing')
})

test('nothing is known where no body of that block can be had', async () => {
  const query = {
    address: ADDRESS,
    isOwn,
    signatures,
    block,
    witness: { nonce: 0, hash: foreign(0) },
  } as const
  const replies: RpcReply[] = [
    chain.answer({ method: 'eth_getBlockByNumber', params: ['0x3', true] }),
    { ok: true, result: null },
    rpcFailure(4444, 'pruned history unavailable'),
    { ok: false, failure: { kind: 'timeout', message: 'no answer' } },
  ]
  for (const reply of replies)
    expect(
      await readWitness(
        scriptedPort(() => reply),
        query,
      ),
      JSON.stringify(reply),
    ).toBeUndefined()
  // The endpoint is on another chain, where the block may hold anything.
  expect(await readWitness(scriptedPort(chain.answer), { ...query, chainId: 2 })).toBeUndefined()
})
