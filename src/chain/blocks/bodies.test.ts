import type { Address, Hash } from 'viem'
import { expect, test } from 'vitest'
import { hashOf, scriptedChain } from '../../../test/support/scriptedChain.js'
import type { Signatures } from '../../rpc/signatures.js'
import { bodyCall, readBody } from './evidenceReads.js'

const ADDRESS: Address = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
const FOREIGN = hashOf('foreign', 0)
const CHAIN_ID = 8453

const signed: Signatures = {
  signerOf: async ({ from }) => from as Address,
  authorityOf: async () => undefined,
}
const unsigned: Signatures = { ...signed, signerOf: async () => 'unsigned' }

/** The body of a block whose transaction of the account has these fields at an endpoint. */
function shown(fields: object, parts: { signatures?: Signatures; isOwn?: (hash: Hash) => boolean } = {}) {
  const reply = scriptedChain(ADDRESS, [[], [FOREIGN]]).answer(bodyCall(1, undefined))
  if (!reply.ok) throw new Error('the scripted chain has the block')
  const block = reply.result as { transactions: readonly object[] }
  const transactions = block.transactions.map((one) => ({ ...one, ...fields }))
  return readBody(
    { ok: true, result: { ...block, transactions } },
    {
      address: ADDRESS,
      chainId: CHAIN_ID,
      signatures: parts.signatures ?? signed,
      isOwn: parts.isOwn ?? (() => false),
    },
  )
}

const transaction = { uses: [{ kind: 'transaction', nonce: 0, hash: FOREIGN }] }

test("P4: the account's signature for another chain is no witness, so no endpoint can insert it into a body", async () => {
  expect(await shown({ type: '0x2', chainId: '0xa' })).toBe('malformed')
  expect(await shown({ type: '0x2', chainId: '0x2105' })).toMatchObject(transaction)
  // `v` of a legacy transaction is signed; `chainId` is only shown.
  const v = (chainId: number, parity: number) => `0x${(chainId * 2 + 35 + parity).toString(16)}`
  for (const type of ['0x0', null, undefined]) {
    for (const parity of [0, 1]) {
      // 0 is an ordinary number: only 27 and 28 name no chain.
      for (const other of [0, 10])
        expect(await shown({ type, v: v(other, parity), chainId: '0x2105' })).toBe('malformed')
      expect(await shown({ type, v: v(CHAIN_ID, parity) })).toMatchObject(transaction)
    }
    expect(await shown({ type, v: '0x1b' })).toMatchObject(transaction)
  }
})

test('P4: a type without a signature is a witness only together with counts, like a deposit', async () => {
  const parts = { signatures: unsigned }
  expect(await shown({ type: '0x65' }, parts)).toMatchObject({
    uses: [{ kind: 'deposit', nonce: 0, hash: FOREIGN }],
  })
})

test('the signature of our own attempt is not verified', async () => {
  expect(await shown({ type: '0x2', chainId: '0xa' }, { isOwn: () => true })).toMatchObject(transaction)
})
