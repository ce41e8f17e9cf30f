import { keccak256, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { checkRun, type ReportedItem } from './check.js'
import type { ChainEvidence, ExecutedTx } from './walk.js'
import { type AskedItem, createWorkload } from './workload.js'

const LEDGER = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const COUNT = 20
const FIRST = 7

type Run = {
  asked: AskedItem[]
  transactions: ExecutedTx[]
  reported: ReportedItem[]
  marks: Map<number, number>
}

/** A successful run: one transaction per item, one block each, from nonce 7. */
function perfectRun(): Run {
  const gas = { transfer: 21_000n, call: 100_000n, deployment: 300_000n, reverting: 100_000n }
  const asked = [...createWorkload({ count: COUNT, seed: 1, ledger: LEDGER, gas })]
  const transactions = asked.map(
    ({ item, kind, request }, index): ExecutedTx => ({
      nonce: FIRST + index,
      hash: keccak256(toHex(item)),
      blockNumber: 100 + index,
      status: kind === 'reverting' ? 'reverted' : 'success',
      to: request.to,
      data: request.data ?? '0x',
      value: request.value,
    }),
  )
  const reported = asked.map(({ item }, index): ReportedItem => {
    const { nonce, hash, status } = transactions[index]!
    return { item, outcome: 'landed', nonce, hash, status }
  })
  const marking = asked.filter(({ kind }) => kind === 'call' || kind === 'deployment')
  const marks = new Map(asked.map(({ item }) => [item, marking.some((one) => one.item === item) ? 1 : 0]))
  return { asked, transactions, reported, marks }
}

function verdictOf(run: Run, changes: Partial<ChainEvidence> = {}, noops: ReadonlySet<number> = new Set()) {
  const total = [...run.marks.values()].reduce((sum, marks) => sum + marks, 0) + 1
  const count = FIRST + run.transactions.length
  const evidence: ChainEvidence = {
    firstNonce: FIRST,
    count,
    blocks: { first: 100, last: 200 },
    transactions: run.transactions,
    marks: run.marks,
    total,
    waiting: [],
    ...changes,
  }
  return checkRun({ asked: run.asked, reported: run.reported, evidence, setup: new Set(), noops })
}

const itemOf = (run: Run, kind: AskedItem['kind']) => run.asked.findIndex((one) => one.kind === kind)

const selfTransfer = (nonce: number): ExecutedTx => ({
  nonce,
  hash: keccak256(toHex(`self ${nonce}`)),
  blockNumber: 150,
  status: 'success',
  to: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  data: '0x',
  value: 0n,
})

describe('a successful run', () => {
  test('holds, and counts reverted transactions as sealed', () => {
    const run = perfectRun()
    const reverted = run.asked.filter(({ kind }) => kind === 'reverting').length
    expect(verdictOf(run)).toEqual({
      requested: COUNT,
      sealed: COUNT,
      reverted,
      failed: 0,
      gaps: 0,
      duplicates: 0,
      lost: 0,
      contradictions: 0,
      noops: 0,
      foreign: 0,
      ok: true,
      problems: [],
    })
  })

  test('holds with foreign transactions, which are counted apart from no-ops', () => {
    const run = perfectRun()
    const noop = selfTransfer(FIRST + COUNT)
    run.transactions.push(noop, selfTransfer(FIRST + COUNT + 1))
    expect(verdictOf(run, {}, new Set([noop.nonce]))).toMatchObject({ noops: 1, foreign: 1, ok: true })
  })

  test('holds if items reported as never executed are absent from the chain', () => {
    const run = perfectRun()
    const at = itemOf(run, 'transfer')
    run.transactions[at] = selfTransfer(FIRST + at)
    run.reported[at] = { item: at + 1, outcome: 'notExecuted', why: 'PREPARE_REVERTED' }
    expect(verdictOf(run)).toMatchObject({ sealed: COUNT - 1, failed: 1, lost: 0, foreign: 1, ok: true })
  })
})

describe('an item that was executed twice', () => {
  test('is a duplicate if two transactions carry it', () => {
    const run = perfectRun()
    const again = run.transactions[itemOf(run, 'transfer')]!
    run.transactions.push({ ...again, nonce: FIRST + COUNT, hash: keccak256('0x01') })
    expect(verdictOf(run)).toMatchObject({ duplicates: 1, sealed: COUNT, ok: false })
  })

  test('is a duplicate if it reverted both times', () => {
    const run = perfectRun()
    const again = run.transactions[itemOf(run, 'reverting')]!
    run.transactions.push({ ...again, nonce: FIRST + COUNT, hash: keccak256('0x01') })
    expect(verdictOf(run)).toMatchObject({ duplicates: 1, ok: false })
  })

  test('is a duplicate if only the contract shows it', () => {
    const run = perfectRun()
    run.marks.set(itemOf(run, 'call') + 1, 2)
    expect(verdictOf(run)).toMatchObject({ duplicates: 1, ok: false })
  })
})

describe('an item that is not on the chain', () => {
  test('is lost even if the sender reported it as landed', () => {
    const run = perfectRun()
    const at = itemOf(run, 'transfer')
    run.transactions[at] = selfTransfer(FIRST + at)
    expect(verdictOf(run)).toMatchObject({ lost: 1, sealed: COUNT - 1, ok: false })
  })

  test('is lost if the sender reported nothing, or no end', () => {
    const run = perfectRun()
    const at = itemOf(run, 'transfer')
    run.transactions[at] = selfTransfer(FIRST + at)
    run.reported[at] = { item: at + 1, outcome: 'open', why: 'not sealed in time' }
    expect(verdictOf(run)).toMatchObject({ lost: 1, ok: false })
    run.reported.splice(at, 1)
    expect(verdictOf(run)).toMatchObject({ lost: 1, ok: false })
  })
})

describe('an empty nonce', () => {
  test('is a gap if it is below the count', () => {
    const run = perfectRun()
    run.transactions.splice(4, 1)
    expect(verdictOf(run, { count: FIRST + COUNT })).toMatchObject({ gaps: 1, lost: 1, ok: false })
  })

  test('is counted and not listed if the reported count is far above', () => {
    const verdict = verdictOf(perfectRun(), { count: Number.MAX_SAFE_INTEGER })
    expect(verdict.gaps).toBe(1_025)
    expect(verdict.problems[0]).toBe(`nonce ${FIRST + COUNT} is empty`)
  })

  test('is a gap if a transaction is stuck above it', () => {
    const run = perfectRun()
    const [last] = run.transactions.splice(-1)
    run.reported[COUNT - 1] = { item: COUNT, outcome: 'open', nonce: last!.nonce + 1, why: 'stuck' }
    const verdict = verdictOf(run, { count: FIRST + COUNT - 1 })
    expect(verdict).toMatchObject({ gaps: 2, lost: 1, ok: false })
    expect(verdict.problems).toContain(`nonce ${last!.nonce} is empty`)
  })
})

describe('a transaction that waits in the pool', () => {
  test('contradicts a reported end, and makes a hole below it a gap', () => {
    const run = perfectRun()
    const [last] = run.transactions.splice(-1)
    run.reported[COUNT - 1] = { item: COUNT, outcome: 'notExecuted', why: 'REJECTED' }
    const verdict = verdictOf(run, { waiting: [last!.nonce + 1] })
    expect(verdict).toMatchObject({ gaps: 1, contradictions: 1, lost: 0, ok: false })
  })

  test('is ignored if its nonce has been used', () => {
    expect(verdictOf(perfectRun(), { waiting: [FIRST] })).toMatchObject({ ok: true })
  })
})

describe('the sender contradicts the chain', () => {
  test('if it reported an item in a block as never executed', () => {
    const run = perfectRun()
    run.reported[3] = { item: 4, outcome: 'notExecuted', why: 'REJECTED' }
    expect(verdictOf(run)).toMatchObject({ contradictions: 1, failed: 0, sealed: COUNT, ok: false })
  })

  test('if it reported another hash, nonce or status', () => {
    for (const change of [{ hash: keccak256('0x02') }, { nonce: 3 }, { status: 'reverted' as const }]) {
      const run = perfectRun()
      const at = itemOf(run, 'transfer')
      run.reported[at] = { ...run.reported[at]!, outcome: 'landed', ...change } as ReportedItem
      expect(verdictOf(run)).toMatchObject({ contradictions: 1, ok: false })
    }
  })
})

describe('the contract contradicts the blocks', () => {
  test('if a call left no mark, or a transfer or a reverted call left one', () => {
    for (const [kind, marks] of [
      ['call', 0],
      ['transfer', 1],
      ['reverting', 1],
    ] as const) {
      const run = perfectRun()
      run.marks.set(itemOf(run, kind) + 1, marks)
      expect(verdictOf(run)).toMatchObject({ contradictions: 1, duplicates: 0, ok: false })
    }
  })

  test('if its total counts an item that was not requested', () => {
    expect(verdictOf(perfectRun(), { total: 99 })).toMatchObject({ contradictions: 1, ok: false })
  })

  test('if a call that should succeed reverted', () => {
    const run = perfectRun()
    const at = itemOf(run, 'call')
    run.transactions[at] = { ...run.transactions[at]!, status: 'reverted' }
    run.reported[at] = { ...run.reported[at]!, status: 'reverted' } as ReportedItem
    run.marks.set(at + 1, 0)
    expect(verdictOf(run)).toMatchObject({ contradictions: 1, ok: false })
  })
})
