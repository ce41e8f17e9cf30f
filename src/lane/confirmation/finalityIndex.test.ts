import { expect, test } from 'vitest'
import { fromStored } from '../transaction/stored.js'
import { createFinalityIndex } from './finalityIndex.js'

/** A settled transaction that was written off. */
function openIndex() {
  const log: string[] = []
  const index = createFinalityIndex({
    safe: () => {},
    done: ({ id }) => void log.push(`done ${id}`),
    doneInStore: (ids) => void log.push(...ids.map((id) => `in store ${id}`)),
    forget: ({ id }) => void log.push(`forget ${id}`),
    recall: ({ id }) => void log.push(`recall ${id}`),
  })
  const block = { number: 10, hash: '0x10' }
  const stored = { id: 'a', stage: 'sealed', verdict: 'landed', nonce: 0, block } as never
  const transaction = fromStored(stored)
  transaction.isBlockWalked = true
  index.add(transaction)
  index.writeOff(10, () => true)
  return { index, log, transaction, stored }
}

test('a transaction that was written off is recalled when a caller waits for it, and once', () => {
  const { index, log, transaction } = openIndex()
  index.awaited(transaction)
  index.awaited(transaction)
  expect(log).toEqual(['forget a', 'recall a'])
  expect(index.size).toBe(1)
})

test('a transaction that a caller waits for, or whose block is in doubt, is not written off', () => {
  const { index, log, transaction } = openIndex()
  index.awaited(transaction)
  index.writeOff(10, () => false)
  transaction.waiters = []
  index.writeOff(10, () => true)
  expect(log).toEqual(['forget a', 'recall a'])
})

test('a record that was read again replaces the transaction that was written off', () => {
  const { index, log, stored } = openIndex()
  index.adopt(fromStored(stored))
  expect(log).toEqual(['forget a', 'recall a'])
  index.advance(undefined, 10, () => true, { wallNow: () => 0 })
  expect(log.filter((line) => line === 'done a').length).toBeGreaterThan(0)
  expect(index.size).toBe(0)
})

/** One transaction in each of the blocks, none of which is settled. `advance` returns the nonces that it looks at. */
function openChain(blocks: number) {
  const done: number[] = []
  const looked = new Set<number>()
  const index = createFinalityIndex({
    safe: () => {},
    done: ({ nonce }) => void done.push(nonce ?? -1),
    doneInStore: () => {},
    forget: () => {},
    recall: () => {},
  })
  for (let number = 0; number < blocks; number++) {
    const block = { number, hash: `0x${number}` }
    const transaction = fromStored({ id: `${number}`, stage: 'sealed', nonce: number, block } as never)
    transaction.isBlockWalked = true
    index.add(transaction)
    Object.defineProperty(transaction, 'stage', {
      get() {
        looked.add(number)
        return transaction.record.stage
      },
    })
  }
  const doubted = new Set<number>()
  const advance = (safe: number, final: number) => {
    looked.clear()
    const stands = (nonce: number) => {
      looked.add(nonce)
      return !doubted.has(nonce)
    }
    index.advance(safe, final, stands, { wallNow: () => 0 })
    index.writeOff(final, stands)
    return [...looked]
  }
  return { advance, done, doubted }
}

test('looks at no transaction while the tags stay, then only at transactions that a tag has passed', () => {
  const { advance } = openChain(6_000)
  expect(advance(10, 4).length).toBeGreaterThan(0)
  expect(advance(10, 4)).toEqual([])
  expect(advance(12, 4)).toEqual([11, 12])
  expect(advance(12, 5)).toEqual([5])
})

test('a transaction whose block is in doubt is looked at until it is not', () => {
  const { advance, done, doubted } = openChain(10)
  doubted.add(3)
  advance(-1, 4)
  expect(done).toEqual([0, 1, 2, 4])
  expect(advance(-1, 4)).toContain(3)
  doubted.clear()
  advance(-1, 4)
  expect(done).toEqual([0, 1, 2, 4, 3])
  expect(advance(-1, 4)).toEqual([])
})
