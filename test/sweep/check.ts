import type { Address, Hex } from 'viem'
import type { ExecutedTx } from '../demo/walk.js'
import { type Answer, type AnyReport, isAnswer, saysEnded, saysExecuted } from './answers.js'
import { dataOf, replacementOf, targetOf, type Wanted } from './asks.js'
import type { ChainFacts } from './chain.js'

/** The asks, the reports, and the chain's facts of one account that began at nonce 0. */
export type Evidence = {
  readonly account: Address
  readonly asks: readonly Wanted[]
  /** The reports of all processes and all their lives, in order. */
  readonly reported: readonly AnyReport[]
  readonly chain: ChainFacts
}

/** The numbers of transactions and findings. */
export type Counts = {
  readonly transactions: number
  readonly executed: number
  readonly noops: number
  readonly duplicates: number
  readonly lost: number
  readonly gaps: number
  readonly foreign: number
  readonly contradictions: number
}

/** `problems` has one line for each finding. */
export type Verdict = Counts & { readonly problems: readonly string[] }

type Finding = 'duplicates' | 'lost' | 'gaps' | 'foreign' | 'contradictions'

/** Compares the reports to callers with the blocks. It uses no data of the library. */
export function check({ account, asks, reported, chain }: Evidence): Verdict {
  const found = { duplicates: 0, lost: 0, gaps: 0, foreign: 0, contradictions: 0 }
  const problems: string[] = []
  const find = (what: Finding, line: string, times = 1) => {
    found[what] += times
    problems.push(`${what}: ${line}`)
  }
  const known = new Map<string, ExecutedTx[]>()
  for (const ask of asks) for (const id of idsOf(ask)) known.set(keyOf(dataOf(id), targetOf(ask)), [])
  let noops = 0
  for (const tx of chain.executed) {
    const own = tx.value === 0n ? known.get(keyOf(tx.data, tx.to)) : undefined
    if (own) own.push(tx)
    else if (isNoop(tx, account)) noops++
    else find('foreign', `nonce ${tx.nonce} of ${account} holds ${tx.hash}, which was never requested`)
  }
  const executedOf = (ask: Wanted, id: string) => known.get(keyOf(dataOf(id), targetOf(ask))) ?? []
  const answers = byId(reported)
  let transactions = 0
  for (const ask of asks) {
    if (ask.kind === 'returned') continue
    for (const id of idsOf(ask)) {
      const executed = executedOf(ask, id)
      const said = answers.get(id) ?? []
      if (id === ask.id || executed.length > 0 || inPlay(ask, answers)) transactions++
      if (executed.length > 1)
        find(
          'duplicates',
          `${id} executed at nonces ${executed.map(({ nonce }) => nonce)}`,
          executed.length - 1,
        )
      if (executed.length === 0 && mustLand(ask, id, answers)) find('lost', `${id} never executed`)
      for (const line of contradictionsOf(said, executed)) find('contradictions', `${id} ${line}`)
    }
    if (ask.kind === 'replace' && idsOf(ask).every((id) => executedOf(ask, id).length > 0))
      find('duplicates', `${ask.id} executed, and so did its replacement`)
  }
  for (const line of gapsOf(chain)) find('gaps', line)
  const executed = [...known.values()].filter(({ length }) => length > 0).length
  return { transactions, executed, noops, ...found, problems }
}

/** An ask of the kind `replace` stands for two transactions. */
function idsOf({ id, kind }: Wanted): readonly string[] {
  return kind === 'replace' ? [id, replacementOf(id)] : [id]
}

function keyOf(data: Hex, to: Address | undefined): string {
  return `${data} ${to?.toLowerCase()}`
}

function isNoop({ to, value, data }: ExecutedTx, account: Address): boolean {
  return to?.toLowerCase() === account.toLowerCase() && value === 0n && data === '0x'
}

type Answers = ReadonlyMap<string, readonly Answer[]>

function byId(reported: readonly AnyReport[]): Answers {
  const answers = new Map<string, Answer[]>()
  for (const report of reported) {
    if (!isAnswer(report)) continue
    const said = answers.get(report.id)
    if (said) said.push(report)
    else answers.set(report.id, [report])
  }
  return answers
}

/** True if the replacement was admitted: it was kept, or its predecessor was superseded. */
function inPlay(ask: Wanted, answers: Answers): boolean {
  const madeWay = answers
    .get(ask.id)
    ?.some((report) => report.report === 'failed' && report.code === 'SUPERSEDED')
  const kept = answers
    .get(replacementOf(ask.id))
    ?.some(({ report }) => report === 'kept' || report === 'sealed')
  return madeWay === true || kept === true
}

function mustLand(ask: Wanted, id: string, answers: Answers): boolean {
  const said = answers.get(id) ?? []
  if (said.some(saysEnded)) return false
  // Uncommitted bytes are known only to the user, and need not have been sent.
  if (ask.kind === 'allocated') return said.some(({ report }) => report === 'kept')
  return id === ask.id || inPlay(ask, answers)
}

function contradictionsOf(said: readonly Answer[], executed: readonly ExecutedTx[]): readonly string[] {
  const lines = new Set<string>()
  const [first] = executed
  for (const report of said) {
    if (saysEnded(report) && first)
      lines.add(
        `was reported as ${words(report)} and executed at nonce ${first.nonce}, block ${first.blockNumber}`,
      )
    if (saysExecuted(report) && !first) lines.add(`was reported as ${words(report)} and never executed`)
    if (report.report !== 'sealed' || !first) continue
    const { hash, nonce, status } = report
    if (!executed.some((tx) => tx.hash === hash && tx.nonce === nonce && tx.status === status))
      lines.add(`was reported as ${words(report)}, and the chain has ${first.status} in ${first.hash}`)
  }
  return [...lines]
}

function words(report: Answer): string {
  if (report.report === 'cancelled') return `cancelled (${report.result})`
  if (report.report === 'sealed')
    return `sealed (${report.status}) in ${report.hash} at nonce ${report.nonce}`
  if (report.report === 'failed') return `failed (${report.code}, ${report.fate}: ${report.message})`
  return report.report
}

/** Used nonces that are in no block, and everything that shows an account with pending work. */
function gapsOf({ executed, latestCount, pendingCount, waiting }: ChainFacts): readonly string[] {
  const used = new Set(executed.map(({ nonce }) => nonce))
  const lines: string[] = []
  for (let nonce = 0; nonce < latestCount; nonce++)
    if (!used.has(nonce)) lines.push(`nonce ${nonce} is below the count and in no block`)
  for (const nonce of used)
    if (nonce >= latestCount) lines.push(`nonce ${nonce} is above the count and in a block`)
  if (pendingCount !== latestCount)
    lines.push(`the pending count is ${pendingCount}, the latest one ${latestCount}`)
  for (const nonce of waiting) lines.push(`nonce ${nonce} waits in the pool, the count is ${latestCount}`)
  return lines
}
