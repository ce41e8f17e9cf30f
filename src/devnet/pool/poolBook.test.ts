import type { Address, Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { DecodedTx } from './decode.js'
import { pick } from './pick.js'
import { createPoolBook } from './poolBook.js'
import { type AccountState, POOL_RULES } from './poolRules.js'

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

const bookOf = (countMax = 1_000) => createPoolBook(POOL_RULES.geth, countMax)

const nonces = (book: ReturnType<typeof bookOf>, from = A) => [...(book.account(from)?.byNonce.keys() ?? [])]

describe('the pool', () => {
  test('keeps the executable run and its cost as transactions come in any order and leave', () => {
    const book = bookOf()
    const cost = 21_000n * 100n
    for (const nonce of [2, 0, 3]) book.offer(tx(nonce), A, RICH)
    expect(book.account(A)).toMatchObject({ end: 1, runCost: cost })
    book.offer(tx(1), A, RICH)
    expect(book.account(A)).toMatchObject({ end: 4, runCost: 4n * cost })
    book.remove(book.account(A)!.byNonce.get(1)!.tx.hash)
    expect(book.account(A)).toMatchObject({ end: 1, runCost: cost })
    book.offer(tx(0, { maxFeePerGas: 200n, maxPriorityFeePerGas: 20n }), A, RICH)
    expect(book.account(A)).toMatchObject({ end: 1, runCost: 2n * cost })
  })

  test('drops the highest of more than 64 gapped ones, also when a lower one comes last', () => {
    const book = bookOf()
    for (let nonce = 2; nonce <= 65; nonce += 1) expect(book.offer(tx(nonce), A, RICH)).toBeUndefined()
    expect(book.offer(tx(1), A, RICH)).toBeUndefined()
    expect(nonces(book).sort((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, at) => at + 1))
  })

  test('does not count gapped ones against the balance, and counts a replacement by its difference', () => {
    const balance = 21_000n * 100n * 2n
    const state = { ...RICH, balance }
    const book = bookOf()
    expect(book.offer(tx(5), A, state)).toBeUndefined()
    expect(book.offer(tx(0), A, state)).toBeUndefined()
    expect(book.offer(tx(1), A, state)).toBeUndefined()
    expect(book.offer(tx(2), A, state)).toMatch(/^insufficient funds .* queued cost 4200000, tx cost 2100000/)
    const higher = { maxFeePerGas: 110n, maxPriorityFeePerGas: 11n }
    expect(book.offer(tx(1, higher), A, state)).toMatch(/tx bumped 210000, overshot 210000$/)
  })

  test('loses used nonces and what can no longer be paid when the state moves, and keeps the rest as a gap', () => {
    const book = bookOf()
    for (const nonce of [0, 1, 3]) book.offer(tx(nonce), A, RICH)
    book.offer(tx(2, { value: 10n ** 20n }), A, RICH)
    book.refresh(A, { nonce: 1, balance: 10n ** 18n, delegated: false })
    expect(nonces(book)).toEqual([1, 3])
    expect(book.account(A)?.end).toBe(2)
    book.refresh(A, { nonce: 4, balance: 10n ** 18n, delegated: false })
    expect(book.account(A)).toBeUndefined()
  })

  test('is full at its limit but for replacements', () => {
    const book = bookOf(1)
    book.offer(tx(0), A, RICH)
    expect(book.offer(tx(0), B, RICH)).toBe('txpool is full')
    expect(book.offer(tx(0, { maxFeePerGas: 110n, maxPriorityFeePerGas: 11n }), A, RICH)).toBeUndefined()
  })
})

describe('picking for a flashblock', () => {
  test('takes the best tips first, each account in order of nonce, first come at equal tips', () => {
    const book = bookOf()
    const entries = [tx(0, { maxPriorityFeePerGas: 1n }), tx(1, { maxPriorityFeePerGas: 50n }), tx(0), tx(1)]
    book.offer(entries[0]!, A, RICH)
    book.offer(entries[1]!, A, RICH)
    book.offer(entries[2]!, B, RICH)
    book.offer(entries[3]!, B, RICH)
    const accounts = [book.account(A)!, book.account(B)!]
    expect(pick(accounts, 10n, 10n ** 9n).map((one) => one.tx)).toEqual([
      entries[2],
      entries[3],
      entries[0],
      entries[1],
    ])
    expect(pick(accounts, 10n, 42_000n).length).toBe(2)
  })

  test('leaves what is below the base fee, and what is behind it', () => {
    const book = bookOf()
    book.offer(tx(0, { maxFeePerGas: 9n, maxPriorityFeePerGas: 9n }), A, RICH)
    book.offer(tx(1), A, RICH)
    book.offer(tx(0), B, RICH)
    const picked = pick([book.account(A)!, book.account(B)!], 10n, 10n ** 9n)
    expect(picked.map(({ from }) => from)).toEqual([B])
  })

  test('counts as tip what the fee cap leaves above the base fee', () => {
    const book = bookOf()
    book.offer(tx(0, { maxFeePerGas: 100n, maxPriorityFeePerGas: 100n }), A, RICH)
    book.offer(tx(0, { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 50n }), B, RICH)
    const accounts = [book.account(A)!, book.account(B)!]
    expect(pick(accounts, 60n, 21_000n)[0]?.from).toBe(B)
    expect(pick(accounts, 10n, 21_000n)[0]?.from).toBe(A)
  })
})
