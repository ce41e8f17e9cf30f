import { describe, expect, test } from 'vitest'
import { type Ask, dataOf, replacementOf, TARGET, type Tell } from './asks.js'
import type { ChainFacts, Executed } from './chain.js'
import { check } from './check.js'

const ACCOUNT = `0x${'aa'.repeat(20)}` as const
const OTHER = `0x${'bb'.repeat(20)}` as const
const NOTHING_WRONG = { duplicates: 0, lost: 0, gaps: 0, foreign: 0, contradictions: 0, problems: [] }

const ask = (id: string, kind: Ask['kind'] = 'plain'): Ask => ({ id, kind, account: 0 })

const hashAt = (nonce: number) => `0x${String(nonce).padStart(64, '0')}` as const

const executed = (nonce: number, id: string): Executed => ({
  nonce,
  hash: hashAt(nonce),
  blockNumber: 10 + nonce,
  status: 'success',
  to: TARGET,
  data: dataOf(id),
  value: 0n,
})

const noop = (nonce: number): Executed => ({ ...executed(nonce, ''), to: ACCOUNT, data: '0x' })

const sealed = (id: string, nonce: number, hash = hashAt(nonce)): Tell => ({
  tell: 'sealed',
  id,
  hash,
  nonce,
  status: 'success',
})

const failed = (id: string, over: Partial<Extract<Tell, { tell: 'failed' }>> = {}): Tell => ({
  tell: 'failed',
  id,
  code: 'REJECTED',
  fate: 'notExecuted',
  message: 'It was rejected.',
  ...over,
})

const cancelled = (id: string, result: 'removed' | 'cancelled' | 'tooLate'): Tell => ({
  tell: 'cancelled',
  id,
  result,
})

function verdict(
  asks: readonly Ask[],
  told: readonly Tell[],
  blocks: readonly Executed[],
  over: Partial<ChainFacts> = {},
) {
  const count = blocks.length
  const chain = { executed: blocks, latestCount: count, pendingCount: count, waiting: [], ...over }
  return check({ account: ACCOUNT, asks, told, chain })
}

describe('nothing is found', () => {
  test('where each ran once, whichever of the processes was told so', () => {
    const asks = [ask('a'), ask('b', 'cancel'), ask('c', 'cancel'), ask('d', 'replace')]
    const told = [
      sealed('a', 0),
      sealed('a', 0),
      cancelled('b', 'cancelled'),
      cancelled('c', 'tooLate'),
      failed('d', { code: 'SUPERSEDED' }),
      sealed(replacementOf('d'), 3),
    ]
    const blocks = [executed(0, 'a'), noop(1), executed(2, 'c'), executed(3, replacementOf('d'))]
    expect(verdict(asks, told, blocks)).toEqual({
      transactions: 5,
      executed: 3,
      noops: 1,
      ...NOTHING_WRONG,
    })
  })

  test('where one ran of which nobody that lives was told', () => {
    expect(verdict([ask('a')], [], [executed(0, 'a')])).toMatchObject(NOTHING_WRONG)
  })
})

describe('a planted duplicate is found', () => {
  test('one id at two nonces', () => {
    expect(verdict([ask('a')], [sealed('a', 0)], [executed(0, 'a'), executed(1, 'a')])).toMatchObject({
      duplicates: 1,
      problems: ['duplicates: a executed at nonces 0,1'],
    })
  })

  test('a transaction and what took its place', () => {
    const blocks = [executed(0, 'a'), executed(1, replacementOf('a'))]
    expect(verdict([ask('a', 'replace')], [], blocks).duplicates).toBe(1)
  })
})

describe('a planted loss is found', () => {
  test('one that is in no block, and whose end nobody told', () => {
    expect(verdict([ask('a')], [], [])).toMatchObject({ lost: 1, problems: ['lost: a never executed'] })
  })

  test('an error that leaves the fate open, or refuses the call alone, is no end', () => {
    expect(verdict([ask('a')], [failed('a', { fate: 'inFlight' })], []).lost).toBe(1)
    expect(verdict([ask('a')], [failed('a', { code: 'STORE' })], []).lost).toBe(1)
  })

  test('a replacement for which another made way', () => {
    expect(verdict([ask('a', 'replace')], [failed('a', { code: 'SUPERSEDED' })], []).lost).toBe(1)
  })
})

describe('a planted gap is found', () => {
  test('a nonce below the count that no block has', () => {
    const blocks = [executed(0, 'a'), executed(2, 'b')]
    const counts = { latestCount: 3, pendingCount: 3 }
    expect(verdict([ask('a'), ask('b')], [], blocks, counts)).toMatchObject({
      gaps: 1,
      problems: ['gaps: nonce 1 is below the count and in no block'],
    })
  })

  test('a pending count that differs, and what still waits in the pool', () => {
    const blocks = [executed(0, 'a')]
    expect(verdict([ask('a')], [], blocks, { pendingCount: 2 }).gaps).toBe(1)
    expect(verdict([ask('a')], [], blocks, { waiting: [2] }).gaps).toBe(1)
  })
})

test('what nobody asked for is foreign: other data, another target, a value', () => {
  for (const stranger of [
    executed(0, 'who'),
    { ...executed(0, 'a'), to: OTHER },
    { ...executed(0, 'a'), value: 1n },
    { ...noop(0), value: 1n },
  ])
    expect(verdict([ask('a')], [failed('a')], [stranger]).foreign).toBe(1)
})

describe('what contradicts the blocks is found', () => {
  test.each([
    ['failed', failed('a')],
    ['removed', cancelled('a', 'removed')],
    ['cancelled', cancelled('a', 'cancelled')],
  ])('P5: told as %s, and executed', (_, tell) => {
    expect(verdict([ask('a')], [tell], [executed(0, 'a')]).contradictions).toBe(1)
  })

  test.each([
    ['sealed', sealed('a', 0)],
    ['cancelled too late', cancelled('a', 'tooLate')],
    ['executed', failed('a', { fate: 'executed' })],
  ])('told as %s, and in no block', (_, tell) => {
    expect(verdict([ask('a')], [tell], []).contradictions).toBe(1)
  })

  test('two processes that were told different hashes', () => {
    const told = [sealed('a', 0), sealed('a', 0, hashAt(7))]
    expect(verdict([ask('a')], told, [executed(0, 'a')]).contradictions).toBe(1)
  })
})
