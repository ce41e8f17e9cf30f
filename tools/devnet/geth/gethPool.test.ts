import { expect, test } from 'vitest'
import { createGethPool } from './gethPool.js'
import type { PoolTransaction } from './poolTypes.js'

// Go's maps have a random order. geth goes through one of them in both cases (legacypool.go: `SetGasTip` and
// `accountSet.flatten`), and then cuts the account that has waited longest.
const RICH = { nonce: 0, balanceWei: 10n ** 21n, hasCode: false }
const head = { gasLimit: 30_000_000n, nextBaseFeeWei: 1n, account: () => RICH }

/** A pool that keeps one queued transaction of all accounts together. */
function poolOf(isReversed: boolean) {
  const pool = createGethPool({
    head,
    limits: { globalQueue: 1 },
    mapOrder: (keys) => (isReversed ? keys.toReversed() : keys),
  })
  const add = (from: string, nonce: number, maxPriorityFeePerGas: bigint) =>
    pool.add(transaction(from, nonce, maxPriorityFeePerGas))
  const queued = () => ['a', 'b'].filter((from) => pool.queued(from).length > 0)
  return { pool, add, queued }
}

function transaction(from: string, nonce: number, maxPriorityFeePerGas: bigint): PoolTransaction {
  const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas }
  return {
    hash: `${from}${nonce}`,
    from,
    nonce,
    gas: 21_000n,
    ...fees,
    costWei: 1n,
    slots: 1,
    authorities: [],
  }
}

test.each([
  [false, ['b']],
  [true, ['a']],
])('a new minimum tip demotes accounts in the order of the map: reversed %s', (isReversed, kept) => {
  const { pool, add, queued } = poolOf(isReversed)
  for (const from of ['a', 'b']) {
    add(from, 0, 1n)
    add(from, 1, 50n)
    pool.reorganise()
  }
  expect(queued()).toEqual([])
  pool.setTipMin(10n)
  pool.setLimits({})
  pool.reorganise()
  expect(queued()).toEqual(kept)
})

test.each([
  [false, ['b']],
  [true, ['a']],
])('a batch of several accounts promotes them in the order of the map: reversed %s', (isReversed, kept) => {
  const { pool, add, queued } = poolOf(isReversed)
  pool.setLimits({ globalQueue: 4 })
  for (const from of ['a', 'b']) add(from, 2, 50n)
  pool.reorganise()
  for (const from of ['a', 'b']) add(from, 0, 50n)
  pool.reorganise()
  expect(queued()).toEqual(['a', 'b'])
  pool.setLimits({ globalQueue: 1 })
  pool.reorganise()
  expect(queued()).toEqual(kept)
})
