import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { carriedBy, type Evidence } from './evidence.js'
import { judge } from './judge.js'
import { renderTable, resultOf } from './result.js'
import type { Asked, SenderAnswer } from './types.js'

const plain = new Proxy({}, { get: () => (text: string) => text }) as Parameters<typeof renderTable>[1]

const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`
const paymentOf = (item: number) => ({ to: `0x${String(item).padStart(40, '0')}` as Hex, value: 1n })
const carried = (item: number) => carriedBy(paymentOf(item))

function asked(item: number, reported: SenderAnswer): Asked {
  return {
    item,
    payment: paymentOf(item),
    sent: Promise.resolve(undefined),
    ended: Promise.resolve(),
    reported: () => reported,
  }
}

/** Payment `item` at `nonce`, for each pair. */
function chain(
  pairs: readonly (readonly [item: number, nonce: number])[],
  more: Partial<Evidence> = {},
): Evidence {
  const executed = pairs.map(([item, nonce]) => ({
    nonce,
    hash: hashOf(nonce),
    carried: carried(item),
    reverted: false,
  }))
  const count = Math.max(5, ...pairs.map(([, nonce]) => nonce + 1))
  return { firstNonce: 5, count, executed, waiting: [], seen: new Map(), ...more }
}

const landed = (nonce: number): SenderAnswer => ({ kind: 'landed', hash: hashOf(nonce) })
const refused: SenderAnswer = { kind: 'refused', why: 'no', open: false }
const accepted: SenderAnswer = { kind: 'accepted', hash: hashOf(9) }

function words(
  all: readonly Asked[],
  evidence: Evidence,
  refusalsMax = 0,
  found: readonly string[] = [],
): string {
  return judge({ asked: all, evidence, refusalsMax, found }).words
}

describe('the judge relies on the chain', () => {
  test('each payment once, and reported so: all once', () => {
    const all = [asked(1, landed(5)), asked(2, landed(6))]
    const verdict = judge({
      asked: all,
      evidence: chain([
        [1, 5],
        [2, 6],
      ]),
      refusalsMax: 0,
      found: [],
    })
    expect(verdict).toEqual({ ok: true, words: 'all once', details: [] })
  })

  test('a refusal that the scenario allows is no fault; one more is', () => {
    const all = [asked(1, landed(5)), asked(2, refused)]
    expect(words(all, chain([[1, 5]]), 1)).toBe('1 once, 1 refused')
    expect(words(all, chain([[1, 5]]), 0)).toBe('1 refused')
  })

  test('an item that ran twice was paid twice, regardless of the reports', () => {
    expect(
      words(
        [asked(1, landed(5))],
        chain([
          [1, 5],
          [1, 6],
        ]),
      ),
    ).toBe('1 paid twice')
    expect(
      words(
        [asked(1, refused)],
        chain([
          [1, 5],
          [1, 6],
        ]),
        1,
      ),
    ).toBe('1 paid twice')
  })

  test('an item that ran although its caller got an error was misreported', () => {
    expect(words([asked(1, refused)], chain([[1, 5]]), 1)).toBe('1 failed, yet paid')
    expect(words([asked(1, { ...refused, open: true } as SenderAnswer)], chain([[1, 5]]))).toBe('all once')
  })

  test('a receipt of another transaction, or of one that is not on the chain', () => {
    expect(words([asked(1, landed(7))], chain([[1, 5]]))).toBe('1 misreported')
    expect(words([asked(1, landed(5))], chain([[2, 5]]))).toBe('1 misreported')
  })

  test('a transaction that was in the pool and lost its nonce to another was replaced', () => {
    const seen = new Map([[hashOf(9), { nonce: 5, carried: carried(1) }]])
    expect(words([asked(1, refused)], chain([[2, 5]], { seen }), 1)).toBe('1 replaced')
  })

  test('a waiting transaction is stuck, a missing one is lost, and a caller that still waits is unanswered', () => {
    const waiting = [{ hash: hashOf(9), nonce: 7 }]
    const seen = new Map([[hashOf(9), { nonce: 7, carried: carried(1) }]])
    expect(words([asked(1, accepted)], chain([], { waiting, seen }))).toBe('1 stuck')
    expect(words([asked(1, accepted)], chain([]))).toBe('1 lost')
    expect(words([asked(1, accepted)], chain([[1, 5]]))).toBe('1 unanswered')
    expect(words([asked(1, { kind: 'nothing' })], chain([]))).toBe('1 unanswered')
  })

  test('a nonce without a transaction is a gap', () => {
    expect(
      words(
        [asked(1, landed(5)), asked(2, landed(7))],
        chain([
          [1, 5],
          [2, 7],
        ]),
      ),
    ).toBe('gap at 6')
  })

  test('a transaction that ran and reverted did not do the requested work', () => {
    const evidence = chain([[1, 5]])
    const reverted = evidence.executed.map((one) => ({ ...one, reverted: true }))
    expect(words([asked(1, landed(5))], { ...evidence, executed: reverted })).toBe('1 reverted')
  })

  test('a finding of the runner fails the run by itself', () => {
    expect(words([asked(1, landed(5))], chain([[1, 5]]), 0, ['process would crash'])).toBe(
      'process would crash',
    )
  })
})

describe('the result', () => {
  const txlane = { name: 'txlane', package: 'txlane', offers: [], open: () => Promise.reject as never }
  const ethers = { ...txlane, name: 'ethers', package: 'ethers' }
  const scenario = {
    name: 'a',
    about: 'The fault.',
    seenIn: [{ where: 'owner/name#1', notAPackage: true as const }],
    run: async () => undefined,
  }
  const verdict = (ok: boolean) =>
    ({ kind: 'verdict', verdict: { ok, words: ok ? 'all once' : '1 lost', details: [] } }) as const
  const report = (ours: boolean, theirs: boolean) => ({
    rows: [
      {
        scenario,
        outcomes: new Map([
          ['txlane', verdict(ours)],
          ['ethers', verdict(theirs)],
        ]),
      },
    ],
    strays: [],
  })

  test('is ok as long as txlane fails none', () => {
    expect(resultOf(report(true, false), [txlane, ethers]).ok).toBe(true)
    expect(resultOf(report(false, true), [txlane, ethers]).ok).toBe(false)
    expect(resultOf({ ...report(true, true), strays: ['lost'] }, [txlane, ethers]).ok).toBe(false)
  })

  test('is shown as a table with the description and the source of each scenario', () => {
    const text = renderTable(resultOf(report(true, false), [txlane, ethers]), plain)
    for (const part of ['1 lost', 'all once', 'name#1', 'not a package', 'The fault.', 'ethers 0 of 1'])
      expect(text).toContain(part)
  })
})
