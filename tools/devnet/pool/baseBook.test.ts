import type { Address, Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { DecodedTx } from '../rpc/decode.js'
import { createBaseBook } from './baseBook.js'
import type { PoolBook } from './poolBook.js'
import { type AccountState, BASE_RULES } from './poolRules.js'
import { pick } from './staging.js'

const A: Address = '0x000000000000000000000000000000000000000a'
const B: Address = '0x000000000000000000000000000000000000000b'
const RICH: AccountState = { nonce: 0, balance: 10n ** 24n, delegated: false }

let made = 0

function tx(nonce: number, fields: Partial<DecodedTx> = {}): DecodedTx {
  made += 1
  const hash: Hex = `0x${made.toString(16).padStart(64, '0')}`
  return {
    raw: hash,
    hash,
    type: 'eip1559',
    chainId: 1,
    nonce,
    gas: 21_000n,
    maxFeePerGas: 100n,
    maxPriorityFeePerGas: 10n,
    gasPrice: undefined,
    to: A,
    value: 0n,
    data: '0x',
    accessList: [],
    authorizations: [],
    signature: { digest: '0x', yParity: 0, r: '0x', s: '0x' },
    ...fields,
  }
}

const CHAIN = { chainId: 1, gasLimit: 30_000_000n, tipWeiMin: 0n }

const bookOf = (countMax = 1_000) => createBaseBook({ rules: BASE_RULES, chain: CHAIN, countMax })

const offer = (book: PoolBook, tx: DecodedTx, from = A, state = RICH) =>
  book.offer({ tx, from, authorities: [] }, state)

const nonces = (book: PoolBook, from = A) => {
  const { pending, queued } = book.parts(from)
  return [...pending, ...queued].map((each) => each.tx.nonce)
}

describe('the pool', () => {
  test('maintains the executable run when transactions arrive in any order and leave', () => {
    const book = bookOf()
    for (const nonce of [2, 0, 3]) offer(book, tx(nonce))
    expect(book.runEnd(A)).toBe(1)
    offer(book, tx(1))
    expect(book.runEnd(A)).toBe(4)
    book.remove(book.parts(A).pending[1]!.tx.hash)
    expect(book.runEnd(A)).toBe(1)
    expect(book.parts(A).queued.map((each) => each.tx.nonce)).toEqual([2, 3])
  })

  test('drops the highest gapped transaction above 64, also when a lower one arrives last', () => {
    const book = bookOf()
    for (let nonce = 2; nonce <= 65; nonce += 1) expect(offer(book, tx(nonce))).toBeUndefined()
    expect(offer(book, tx(1))).toBeUndefined()
    expect(nonces(book)).toEqual(Array.from({ length: 64 }, (_, at) => at + 1))
  })

  test('excludes gapped transactions from the balance check, and counts only the extra cost of a replacement', () => {
    const balance = 21_000n * 100n * 2n
    const state = { ...RICH, balance }
    const book = bookOf()
    for (const nonce of [5, 0, 1]) expect(offer(book, tx(nonce), A, state)).toBeUndefined()
    expect(offer(book, tx(2), A, state)).toMatch(
      /^insufficient funds .* queued cost 4200000, tx cost 2100000/,
    )
    const higher = { maxFeePerGas: 110n, maxPriorityFeePerGas: 11n }
    expect(offer(book, tx(1, higher), A, state)).toMatch(/tx bumped 210000, overshot 210000$/)
    const removed = book.parts(A).pending[0]!.tx.hash
    book.remove(removed)
    expect(offer(book, tx(0, { value: 2_100_001n }), A, state)).toMatch(/overshot 1$/)
    expect(offer(book, tx(0, { value: 2_100_000n }), A, state)).toBeUndefined()
  })

  test('drops used nonces and unaffordable transactions on a new state, and keeps the others', () => {
    const book = bookOf()
    for (const nonce of [0, 1, 3]) offer(book, tx(nonce))
    offer(book, tx(2, { value: 10n ** 20n }))
    const refresh = (nonce: number) =>
      book.refresh(new Map([[A, { nonce, balance: 10n ** 18n, delegated: false }]]), 1n)
    refresh(1)
    expect(nonces(book)).toEqual([1, 3])
    expect(book.runEnd(A)).toBe(2)
    refresh(4)
    expect(book.runEnd(A)).toBeUndefined()
  })

  test('accepts only replacements at its limit', () => {
    const book = bookOf(1)
    offer(book, tx(0))
    expect(offer(book, tx(0), B)).toBe('txpool is full')
    expect(offer(book, tx(0, { maxFeePerGas: 110n, maxPriorityFeePerGas: 11n }))).toBeUndefined()
  })
})

describe('picking for a flashblock', () => {
  test('takes the best tips first, each account in nonce order, and the earlier arrival at equal tips', () => {
    const book = bookOf()
    const entries = [tx(0, { maxPriorityFeePerGas: 1n }), tx(1, { maxPriorityFeePerGas: 50n }), tx(0), tx(1)]
    for (const [index, each] of entries.entries()) offer(book, each, index < 2 ? A : B)
    expect(pick(book.runs(), 10n, 10n ** 9n).map((one) => one.tx)).toEqual([
      entries[2],
      entries[3],
      entries[0],
      entries[1],
    ])
    expect(pick(book.runs(), 10n, 42_000n).length).toBe(2)
  })

  test('skips a transaction below the base fee, and the higher nonces of its account', () => {
    const book = bookOf()
    offer(book, tx(0, { maxFeePerGas: 9n, maxPriorityFeePerGas: 9n }))
    offer(book, tx(1))
    offer(book, tx(0), B)
    const picked = pick(book.runs(), 10n, 10n ** 9n)
    expect(picked.map(({ from }) => from)).toEqual([B])
  })

  test('limits the tip to the fee cap minus the base fee', () => {
    const book = bookOf()
    offer(book, tx(0, { maxFeePerGas: 100n, maxPriorityFeePerGas: 100n }))
    offer(book, tx(0, { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 50n }), B)
    expect(pick(book.runs(), 60n, 21_000n)[0]?.from).toBe(B)
    expect(pick(book.runs(), 10n, 21_000n)[0]?.from).toBe(A)
  })
})
