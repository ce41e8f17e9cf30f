import { expect, test } from 'vitest'
import { ACCOUNT } from '../../api/sender/simLane.fixture.js'
import { TxlaneError } from '../../errors/base.js'
import { end, note, refresh, settleEnd } from './changes.js'
import { newQueued, toStored } from './stored.js'
import type { Transaction } from './transaction.js'

const LANE = { chainId: 1, genesisHash: `0x${'11'.repeat(32)}`, address: ACCOUNT } as const

function newTransaction(): Transaction {
  return newQueued({
    id: 'a',
    lane: LANE,
    request: { to: ACCOUNT, value: 1n },
    fingerprint: `0x${'22'.repeat(32)}`,
    sequence: 1,
    priority: 0,
    feeCeiling: undefined,
    createdAtMs: 1,
    expiresAtMs: undefined,
    onExpiry: 'leave',
    private: undefined,
    order: undefined,
    pooled: undefined,
    needs: undefined,
    replaces: undefined,
    gas: undefined,
  })
}

test('a transaction that lands has no room for fields it never had', () => {
  const transaction = newTransaction()
  const fields = Object.keys(transaction)
  settleEnd(transaction)
  note(transaction, 'refusal', undefined)
  expect(Object.keys(transaction)).toEqual(fields)
})

test('a refreshed transaction has the state of the store, and keeps its callers', () => {
  const transaction = newTransaction()
  const stored = toStored(transaction)
  let [cancelled, unheeded] = [0, 0]
  const reported = () => undefined
  Object.assign(transaction, {
    notes: {
      refusal: 'node: said "no"',
      signerPause: { failures: 2, untilMs: 10 },
      previouslySigned: true,
      unresolved: true,
    },
    cancelWaiters: [reported],
    cancelTimers: () => void cancelled++,
    detachSignal: () => void unheeded++,
  })
  refresh(transaction, stored)
  expect(cancelled).toBe(1)
  expect(unheeded).toBe(0)
  expect(transaction.cancelWaiters).toEqual([reported])
  const { notes, cancelTimers } = transaction
  expect({ notes, cancelTimers }).toEqual({})
  expect(transaction.unresolved).toBe(false)
  expect(toStored(transaction)).toEqual(stored)
})

test('a refresh removes a failure that the store does not know', () => {
  const transaction = newTransaction()
  const stored = toStored(transaction)
  end(transaction, new TxlaneError('It expired.', { code: 'EXPIRED', fate: 'notExecuted' }), {
    wallNow: () => 7,
  })
  expect(transaction.stage).toBe('failed')
  expect(transaction.record).toMatchObject({ updatedAtMs: 7, finishedAtMs: 7 })
  refresh(transaction, stored)
  expect(transaction.stage).toBe('queued')
  expect(transaction.failure).toBeUndefined()
  expect(transaction.record).toMatchObject({ updatedAtMs: 1, finishedAtMs: undefined })
})
