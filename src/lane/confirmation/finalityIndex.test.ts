import { expect, test } from 'vitest'
import { fromStored } from '../transaction/stored.js'
import { createFinalityIndex } from './finalityIndex.js'

/** A settled transaction that was written off. */
function openIndex() {
  const log: string[] = []
  const index = createFinalityIndex({
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

test('a record that was read again takes the place of what was written off', () => {
  const { index, log, stored } = openIndex()
  index.adopt(fromStored(stored))
  expect(log).toEqual(['forget a', 'recall a'])
  index.advance(undefined, 10, () => true, { wallNow: () => 0 })
  expect(log.filter((line) => line === 'done a').length).toBeGreaterThan(0)
  expect(index.size).toBe(0)
})
