import type { Address, Hash } from 'viem'
import type { SimChain } from './chain/simChain.js'
import { accountIn } from './chain/state.js'
import { isForeign, isNoop } from './foreign.js'
import { programOf } from './program.js'

/** A report to the caller about the transaction of a marker. */
export type CallerReport = {
  readonly marker: number
  readonly atMs: number
  readonly says: 'executed' | 'notExecuted' | 'inFlight'
  /** The source of the report: the call and, for an error, its code. */
  readonly how: string
  /** Reported when a reorg could no longer change it. */
  readonly final: boolean
  readonly hash?: Hash | undefined
}

/** A broken promise, by its number in the design. */
export type Violation = {
  readonly promise:
    | 'P3'
    | 'P4'
    | 'P5'
    | 'P6'
    | 'P8'
    | 'after'
    | 'private'
    | 'sequence'
    | 'delivery'
    | 'landed'
    | 'finality'
    | 'load'
  readonly text: string
  readonly marker?: number
}

export type Execution = { readonly nonce: number; readonly block: number; readonly hash: Hash }

export type Census = {
  /** The executions of each marker on the canonical chain, reverted ones included. */
  readonly executions: ReadonlyMap<number, readonly Execution[]>
  readonly noops: number
  readonly foreign: number
}

/** Reads the whole canonical chain: the facts, independent of all reports. */
export function takeCensus(chain: SimChain, lane: Address): Census {
  const executions = new Map<number, Execution[]>()
  let noops = 0
  let foreign = 0
  for (const block of chain.canonical) {
    for (const { tx } of block.executed) {
      if (tx.from !== lane) continue
      const program = programOf(tx)
      if (program === undefined) {
        if (isNoop(tx)) noops++
        else if (isForeign(tx)) foreign++
        continue
      }
      const known = executions.get(program.marker) ?? []
      known.push({ nonce: tx.nonce, block: block.number, hash: tx.hash })
      executions.set(program.marker, known)
    }
  }
  return { executions, noops, foreign }
}

/**
 * Compares the reports to the caller with the chain. It knows nothing about how a sender works: it sees the
 * workload's markers, the canonical chain and the pool.
 */
export function judge(
  census: Census,
  markers: Iterable<number>,
  reports: readonly CallerReport[],
): Violation[] {
  const reported = new Map<number, CallerReport[]>()
  for (const report of reports) {
    const list = reported.get(report.marker)
    if (list === undefined) reported.set(report.marker, [report])
    else list.push(report)
  }
  return [...markers].flatMap((marker) =>
    judgeMarker(marker, census.executions.get(marker) ?? [], reported.get(marker) ?? []),
  )
}

function judgeMarker(
  marker: number,
  executions: readonly Execution[],
  reported: readonly CallerReport[],
): readonly Violation[] {
  const violations: Violation[] = []
  const broken = (promise: Violation['promise'], text: string) => violations.push({ promise, text, marker })
  const ended = reported.find(({ says }) => says === 'notExecuted')
  const executed = reported.findLast(({ says }) => says === 'executed')
  const surely = reported.find(({ says, final }) => says === 'executed' && final)

  if (executions.length > 1) {
    broken(
      'P4',
      `executed ${executions.length} times, at nonces ${executions.map((one) => one.nonce).join(', ')}`,
    )
  }
  if (ended !== undefined && executions.length > 0) {
    broken('P5', `${ended.how} reported notExecuted, and it executed at nonce ${executions[0]?.nonce}`)
  }
  if (ended !== undefined && surely !== undefined) {
    broken('P5', `${ended.how} reported notExecuted, ${surely.how} reported executed`)
  }
  if (ended === undefined && executed !== undefined && executions.length === 0) {
    broken('P4', `${executed.how} reported executed, and it is not on the chain`)
  }
  if (ended === undefined && executed === undefined) {
    broken(
      'P8',
      `the only reports were ${reported.map(({ how, says }) => `${how}: ${says}`).join(', ') || 'none'}`,
    )
  }
  const hash = surely?.hash
  if (hash !== undefined && executions.length === 1 && executions[0]?.hash !== hash) {
    broken('P4', `${surely?.how} named ${hash}, and ${executions[0]?.hash} executed`)
  }
  return violations
}

/**
 * Checks the lane after all work is done: its pool must be empty. `silent` are transactions that outside
 * code sent without committing them: they may wait there for lower fees, if no nonce is missing below,
 * because a process that does not own the lane need not finish them.
 */
export function judgeGaps(
  chain: SimChain,
  lane: Address,
  silent: ReadonlySet<number | undefined> = new Set(),
): Violation[] {
  const next = accountIn(chain.head.state, lane).nonce
  const gap = chain.pool.nextNonce(lane, next)
  const left = chain.pool
    .of(lane)
    .filter((tx) => !isForeign(tx) && tx.nonce >= next)
    .filter((tx) => tx.nonce > gap || !silent.has(programOf(tx)?.marker))
  if (left.length === 0) return []
  const nonces = left.map((tx) => tx.nonce).join(', ')
  return [{ promise: 'P3', text: `drained, and the pool still holds ${nonces}; the next nonce is ${gap}` }]
}

/** Compares the order of sequences, by their markers, with the nonces at which they executed. */
export function judgeSequences(census: Census, sequences: Iterable<readonly number[]>): readonly Violation[] {
  return [...sequences].flatMap((markers) => {
    const nonces = markers.flatMap((marker) => census.executions.get(marker)?.[0]?.nonce ?? [])
    const ordered = nonces.every((nonce, index) => index === 0 || nonce > (nonces[index - 1] ?? 0))
    const text = `the sequence ${markers.join(', ')} executed at nonces ${nonces.join(', ')}`
    return ordered ? [] : [{ promise: 'sequence', text } as const]
  })
}
