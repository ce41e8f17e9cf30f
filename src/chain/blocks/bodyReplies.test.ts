import type { Address, Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Signatures } from '../../rpc/signatures.js'
import { bodyCall, readBody } from './evidenceReads.js'

const ADDRESS: Address = '0xABcdEFABcdEFabcdEfAbCdefabcdeFABcDEFabCD'
const LOWER = ADDRESS.toLowerCase()
const h = (digit: string): Hash => `0x${digit.repeat(64)}`
const STRANGER = `0x${'99'.repeat(20)}`

/** Each names its signer instead of a signature. */
const signatures: Signatures = {
  signerOf: async ({ r }) => r as Address | 'unsigned' | undefined,
  authorityOf: async (tuple) => (tuple as { r?: Address }).r,
}

type Over = { gasUsed?: string; chainId?: number | undefined; own?: Hash; block?: object }

function read(transactions: readonly object[], { gasUsed = '0x5208', own, block, ...over }: Over = {}) {
  const result = {
    number: '0xa',
    hash: h('1'),
    parentHash: h('2'),
    timestamp: '0x1',
    gasLimit: '0x1c9c380',
    gasUsed,
    transactions,
    ...block,
  }
  const chainId = 'chainId' in over ? over.chainId : 5
  const query = { address: ADDRESS, chainId, signatures, isOwn: (hash: Hash) => hash === own }
  return readBody({ ok: true, result }, query)
}

const sent = (over: object = {}) => ({
  hash: h('a'),
  type: '0x2',
  from: LOWER,
  nonce: '0x5',
  r: ADDRESS,
  ...over,
})
const carrier = (...authorizationList: readonly object[]) => ({
  hash: h('c'),
  type: '0x4',
  from: STRANGER,
  nonce: '0x1',
  authorizationList,
})
const tuple = (over: object = {}) => ({ chainId: '0x5', nonce: '0x7', r: LOWER, ...over })

describe('a body', () => {
  test('is requested by the walked hash, or by its number without one', () => {
    expect(bodyCall(16, h('1'))).toEqual({ method: 'eth_getBlockByHash', params: [h('1'), true] })
    expect(bodyCall(16, undefined)).toEqual({ method: 'eth_getBlockByNumber', params: ['0x10', true] })
  })

  test('that used gas and lists no transactions contradicts itself; one that used none does not', async () => {
    expect(await read([])).toBe('malformed')
    expect(await read([], { gasUsed: '0x0' })).toMatchObject({ number: 10, hashes: [], uses: [] })
    // System transactions use no counted gas.
    expect(await read([sent()], { gasUsed: '0x0' })).toMatchObject({ uses: [{ nonce: 5 }] })
  })

  test('that is not sealed yet, without a number or a hash, is rejected', async () => {
    for (const block of [{ number: null }, { hash: null }])
      expect(await read([sent()], { block })).toBe('malformed')
  })

  test('is refused, missing, malformed, or was not answered', async () => {
    const query = { address: ADDRESS, chainId: 5, signatures, isOwn: () => false }
    expect(await readBody(undefined, query)).toBeUndefined()
    expect(await readBody({ ok: true, result: null }, query)).toBe('missing')
    for (const result of ['x', 5, {}, { number: '0x1' }])
      expect(await readBody({ ok: true, result }, query), JSON.stringify(result)).toBe('malformed')
    expect(await readBody({ ok: false, failure: { kind: 'timeout', message: 'x' } }, query)).toBeUndefined()
    const failure = { kind: 'rpc', code: 4444, message: 'pruned history unavailable' } as const
    expect(await readBody({ ok: false, failure }, query)).toBe('refused')
  })
})

describe('a transaction of the account', () => {
  test('is a use, for any letter case of the addresses', async () => {
    const use = { kind: 'transaction', nonce: 5, hash: h('a') }
    for (const from of [LOWER, ADDRESS, LOWER.toUpperCase().replace('0X', '0x')])
      for (const r of [LOWER, ADDRESS]) expect(await read([sent({ from, r })])).toMatchObject({ uses: [use] })
  })

  test('without its signature makes the body malformed, unless it is an attempt of ours', async () => {
    for (const r of [STRANGER, undefined]) {
      expect(await read([sent({ r })])).toBe('malformed')
      expect(await read([sent({ r })], { own: h('a') })).toMatchObject({ uses: [{ nonce: 5 }] })
    }
  })

  test('for another chain is malformed, and is a use if our chain is unknown', async () => {
    for (const other of [{ chainId: '0x6' }, { type: '0x0', v: '0x30' }]) {
      expect(await read([sent(other)]), JSON.stringify(other)).toBe('malformed')
      expect(await read([sent(other)], { chainId: undefined })).toMatchObject({ uses: [{ nonce: 5 }] })
    }
  })

  test('that is a deposit of the OP stack has no nonce in the body', async () => {
    const deposit = { ...sent({ type: '0x7e', r: 'unsigned' }) }
    expect(await read([deposit])).toMatchObject({ uses: [{ kind: 'deposit', nonce: undefined }] })
  })

  test('of another account does not count', async () => {
    expect(await read([sent({ from: STRANGER, r: STRANGER })])).toMatchObject({ uses: [] })
  })
})

describe('a tuple that the account has signed (EIP-7702)', () => {
  const use = { kind: 'authorization', nonce: 7, hash: h('c') }

  test('is a use if it is for this chain, or for all', async () => {
    for (const chainId of ['0x5', '0x0'])
      expect(await read([carrier(tuple({ chainId }))])).toMatchObject({ uses: [use] })
    expect(await read([carrier(tuple({ chainId: '0x6' }))])).toMatchObject({ uses: [] })
    // The present chain is unknown, so any chain id is accepted.
    const all = await read([carrier(tuple({ chainId: '0x6' }))], { chainId: undefined })
    expect(all).toMatchObject({ uses: [use] })
  })

  test('does not count if another account has signed it, or no account', async () => {
    for (const r of [STRANGER, undefined])
      expect(await read([carrier(tuple({ r }))])).toMatchObject({ uses: [] })
  })

  test('follows the transaction that carries it, and several tuples keep their order', async () => {
    const own = sent({
      type: '0x4',
      authorizationList: [tuple({ nonce: '0x6' }), tuple({ r: STRANGER }), tuple()],
    })
    const body = await read([own])
    expect(body).toMatchObject({
      uses: [
        { kind: 'transaction', nonce: 5 },
        { kind: 'authorization', nonce: 6 },
        { kind: 'authorization', nonce: 7 },
      ],
    })
  })
})
