import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import { createChain } from './chain/chain.js'
import { type CallerReport, type Census, judge, judgeGaps, judgeSequences } from './oracle.js'
import { LANE, signOutside } from './outside.js'
import { createRandom } from './random.js'
import { createVirtualClock } from './virtualClock.js'

const HASH: Hash = `0x${'1'.repeat(64)}`
const OTHER: Hash = `0x${'2'.repeat(64)}`

function census(...nonces: number[]): Census {
  return {
    executions: new Map([[1, nonces.map((nonce) => ({ nonce, block: 1, hash: HASH }))]]),
    noops: 0,
    foreign: 0,
  }
}

function reported(says: CallerReport['says'], final = false, hash: Hash = HASH): CallerReport {
  return { marker: 1, atMs: 0, says, how: says, final, hash }
}

const broken = (chain: Census, ...reports: CallerReport[]) =>
  judge(chain, [1], reports).map(({ promise }) => promise)

describe('no violation', () => {
  test('a transaction that was reported as executed, and executed once', () => {
    expect(broken(census(5), reported('inFlight'), reported('executed'))).toEqual([])
  })

  test('a transaction that was reported as not executed, and was not', () => {
    expect(broken(census(), reported('notExecuted', true))).toEqual([])
  })

  test('a transaction that was sealed, left the chain with a reorg and was cancelled then', () => {
    expect(broken(census(), reported('executed'), reported('notExecuted', true))).toEqual([])
  })
})

describe('it finds', () => {
  test('two executions (P4)', () => {
    expect(broken(census(5, 6), reported('executed'))).toEqual(['P4'])
  })

  test('an execution that was reported and is missing (P4)', () => {
    expect(broken(census(), reported('executed'))).toEqual(['P4'])
  })

  test('a reported end of an executed transaction (P5)', () => {
    expect(broken(census(5), reported('notExecuted', true))).toEqual(['P5'])
  })

  test('two final reports (P5)', () => {
    expect(broken(census(), reported('executed', true), reported('notExecuted', true))).toEqual(['P5'])
  })

  test('a final report with another hash (P4)', () => {
    expect(broken(census(5), reported('executed', true, OTHER))).toEqual(['P4'])
  })

  test('silence, and a fate left open (P8)', () => {
    expect(broken(census())).toEqual(['P8'])
    expect(broken(census(5), reported('inFlight'))).toEqual(['P8'])
  })
})

test('the order of a sequence is that of the nonces at which it executed, even if some members did not execute', () => {
  const at = (nonces: Readonly<Record<number, number>>): Census => ({
    ...census(),
    executions: new Map(
      Object.entries(nonces).map(([marker, nonce]) => [Number(marker), [{ nonce, block: 1, hash: HASH }]]),
    ),
  })
  expect(judgeSequences(at({ 1: 5, 2: 6, 3: 9 }), [[1, 2, 3]])).toEqual([])
  expect(judgeSequences(at({ 1: 5, 3: 6 }), [[1, 2, 3]])).toEqual([])
  expect(judgeSequences(at({ 1: 6, 2: 5 }), [[1, 2]])).toMatchObject([{ promise: 'sequence' }])
})

describe('the pool at the end', () => {
  /** A chain whose pool holds transactions of the lane at these nonces, which are also their markers. */
  async function chainWith(...nonces: number[]) {
    const accounts = [{ address: LANE, nonce: 1, balanceWei: 10n ** 18n }]
    const chain = createChain({ clock: createVirtualClock(), random: createRandom(1), accounts })
    for (const nonce of nonces) {
      const program = { kind: 'call', marker: nonce } as const
      expect(chain.submit(await signOutside({ chainId: 8453, nonce, program }))).toMatchObject({ ok: true })
    }
    return chain
  }

  test('must not hold a transaction of the lane, above a gap or not', async () => {
    expect(judgeGaps(await chainWith(), LANE)).toEqual([])
    expect(judgeGaps(await chainWith(1), LANE)).toMatchObject([{ promise: 'P3' }])
    expect(judgeGaps(await chainWith(2), LANE)).toMatchObject([{ promise: 'P3' }])
  })

  test('may hold uncommitted transactions of outside code, if no nonce is missing below', async () => {
    expect(judgeGaps(await chainWith(1), LANE, new Set([1]))).toEqual([])
    expect(judgeGaps(await chainWith(2), LANE, new Set([2]))).toMatchObject([{ promise: 'P3' }])
    expect(judgeGaps(await chainWith(1, 2), LANE, new Set([1]))).toMatchObject([{ promise: 'P3' }])
  })
})
