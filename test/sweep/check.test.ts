import { describe, expect, test } from 'vitest'
import type { ExecutedTx } from '../demo/walk.js'
import type { Answer } from './answers.js'
import { dataOf, type Kind, replacementOf, targetOf, type Wanted } from './asks.js'
import type { ChainFacts } from './chain.js'
import { check } from './check.js'

const ACCOUNT = `0x${'aa'.repeat(20)}` as const
const OTHER = `0x${'bb'.repeat(20)}` as const
const NOTHING_WRONG = { duplicates: 0, lost: 0, gaps: 0, foreign: 0, contradictions: 0, problems: [] }

const ask = (id: string, kind: Kind = 'plain'): Wanted => ({ id, kind })

const hashAt = (nonce: number) => `0x${String(nonce).padStart(64, '0')}` as const

const executed = (nonce: number, id: string, kind: Kind = 'plain'): ExecutedTx => ({
  nonce,
  hash: hashAt(nonce),
  blockNumber: 10 + nonce,
  status: kind === 'reverted' ? 'reverted' : 'success',
  to: targetOf({ kind }),
  data: dataOf(id),
  value: 0n,
})

const noop = (nonce: number): ExecutedTx => ({ ...executed(nonce, ''), to: ACCOUNT, data: '0x' })

const sealed = (id: string, nonce: number, status = 'success', hash = hashAt(nonce)): Answer => ({
  report: 'sealed',
  id,
  hash,
  nonce,
  status,
})

const failed = (id: string, over: Partial<Extract<Answer, { report: 'failed' }>> = {}): Answer => ({
  report: 'failed',
  id,
  code: 'EXPIRED',
  fate: 'notExecuted',
  message: 'It expired.',
  ...over,
})

const cancelled = (id: string, result: 'removed' | 'cancelled' | 'tooLate'): Answer => ({
  report: 'cancelled',
  id,
  result,
})

const kept = (id: string): Answer => ({ report: 'kept', id })

function verdict(
  asks: readonly Wanted[],
  reported: readonly Answer[],
  blocks: readonly ExecutedTx[],
  over: Partial<ChainFacts> = {},
) {
  const count = blocks.length
  const chain = { executed: blocks, latestCount: count, pendingCount: count, waiting: [], ...over }
  return check({ account: ACCOUNT, asks, reported, chain })
}

describe('no problem is found', () => {
  test('if each ran once, or was reported as never to run', () => {
    const asks = [
      ask('a'),
      ask('b', 'cancel'),
      ask('c', 'refused'),
      ask('d', 'reverted'),
      ask('e', 'expires'),
    ]
    const reported = [
      kept('a'),
      sealed('a', 0),
      cancelled('b', 'cancelled'),
      failed('c', { code: 'PREPARE_REVERTED' }),
      sealed('d', 2, 'reverted'),
      failed('e'),
    ]
    const found = verdict(asks, reported, [executed(0, 'a'), noop(1), executed(2, 'd', 'reverted')])
    expect(found).toEqual({ transactions: 5, executed: 2, noops: 1, ...NOTHING_WRONG })
  })

  test('if one of a transaction and its replacement ran', () => {
    const asks = [ask('a', 'replace'), ask('b', 'replace')]
    const reported = [
      failed('a', { code: 'SUPERSEDED' }),
      sealed(replacementOf('a'), 0),
      sealed('b', 1),
      failed(replacementOf('b'), { code: 'TOO_LATE' }),
    ]
    const blocks = [executed(0, replacementOf('a'), 'replace'), executed(1, 'b', 'replace')]
    expect(verdict(asks, reported, blocks)).toMatchObject({ executed: 2, ...NOTHING_WRONG })
  })

  test('if each ran once, as reported to any of the processes, also as too late to cancel', () => {
    const asks = [ask('a'), ask('b', 'cancel')]
    const reported = [sealed('a', 0), sealed('a', 0), cancelled('b', 'tooLate')]
    expect(verdict(asks, reported, [executed(0, 'a'), executed(1, 'b')])).toMatchObject(NOTHING_WRONG)
  })

  test('if one ran without a report to any living process', () => {
    expect(verdict([ask('a')], [], [executed(0, 'a')])).toMatchObject(NOTHING_WRONG)
  })

  test('if uncommitted bytes did not run, and a nonce was released', () => {
    expect(verdict([ask('a', 'allocated'), ask('b', 'returned')], [], [])).toMatchObject(NOTHING_WRONG)
  })
})

describe('duplicates', () => {
  test('one transaction at two nonces', () => {
    expect(verdict([ask('a')], [sealed('a', 0)], [executed(0, 'a'), executed(1, 'a')])).toMatchObject({
      duplicates: 1,
      lost: 0,
      problems: ['duplicates: a executed at nonces 0,1'],
    })
  })

  test('a transaction and its replacement', () => {
    const blocks = [executed(0, 'a', 'replace'), executed(1, replacementOf('a'), 'replace')]
    expect(verdict([ask('a', 'replace')], [], blocks).duplicates).toBe(1)
  })
})

describe('lost', () => {
  test('a transaction without a block and without a reported end', () => {
    expect(verdict([ask('a')], [kept('a')], [])).toMatchObject({
      lost: 1,
      problems: ['lost: a never executed'],
    })
  })

  test('an error that leaves the fate open, or refuses only the call, is no end', () => {
    expect(verdict([ask('a')], [failed('a', { fate: 'inFlight' })], []).lost).toBe(1)
    expect(verdict([ask('a')], [failed('a', { code: 'STORE' })], []).lost).toBe(1)
    expect(verdict([ask('a')], [failed('a', { code: 'CLOSED' })], []).lost).toBe(1)
  })

  test('bytes that were committed at a nonce of the allocator', () => {
    expect(verdict([ask('a', 'allocated')], [kept('a')], []).lost).toBe(1)
  })

  test('a replacement whose predecessor was superseded', () => {
    expect(verdict([ask('a', 'replace')], [failed('a', { code: 'SUPERSEDED' })], []).lost).toBe(1)
  })
})

describe('gaps', () => {
  const asks = [ask('a'), ask('b')]
  const reported = [sealed('a', 0), sealed('b', 2)]

  test('a nonce below the count that no block has', () => {
    const found = verdict(asks, reported, [executed(0, 'a'), executed(2, 'b')], {
      latestCount: 3,
      pendingCount: 3,
    })
    expect(found).toMatchObject({ gaps: 1, problems: ['gaps: nonce 1 is below the count and in no block'] })
  })

  test('a pending count that differs, and a transaction that still waits in the pool', () => {
    const blocks = [executed(0, 'a')]
    expect(verdict([ask('a')], [sealed('a', 0)], blocks, { pendingCount: 2 }).gaps).toBe(1)
    expect(verdict([ask('a')], [sealed('a', 0)], blocks, { waiting: [2] }).gaps).toBe(1)
  })
})

describe('foreign', () => {
  test('a transaction without an ask, with other data, another target or a value is a finding', () => {
    const stranger = executed(0, 'who')
    expect(verdict([], [], [stranger]).foreign).toBe(1)
    expect(verdict([ask('a')], [failed('a')], [{ ...executed(0, 'a'), to: OTHER }]).foreign).toBe(1)
    expect(verdict([ask('a')], [failed('a')], [{ ...executed(0, 'a'), value: 1n }]).foreign).toBe(1)
    expect(verdict([], [], [{ ...noop(0), value: 1n }]).foreign).toBe(1)
  })
})

describe('contradictions', () => {
  test.each([
    ['failed', failed('a')],
    ['removed', cancelled('a', 'removed')],
    ['cancelled', cancelled('a', 'cancelled')],
  ])('P5: reported as %s, and executed', (_, report) => {
    expect(verdict([ask('a')], [report, sealed('a', 0)], [executed(0, 'a')])).toMatchObject({
      contradictions: 1,
    })
  })

  test.each([
    ['sealed', sealed('a', 0)],
    ['cancelled too late', cancelled('a', 'tooLate')],
    ['failed, yet executed', failed('a', { fate: 'executed', code: 'TOO_LATE' })],
  ])('reported as %s, and never executed', (_, report) => {
    expect(verdict([ask('a')], [report], [])).toMatchObject({ contradictions: 1 })
  })

  test('another reported hash, nonce or status than on the chain', () => {
    const wrong = [sealed('a', 7), sealed('a', 0, 'reverted')]
    expect(verdict([ask('a')], wrong, [executed(0, 'a')]).contradictions).toBe(2)
  })

  test('different hashes reported to two processes', () => {
    const reported = [sealed('a', 0), sealed('a', 0, 'success', hashAt(7))]
    expect(verdict([ask('a')], reported, [executed(0, 'a')]).contradictions).toBe(1)
  })
})
