import type { Hex } from 'viem'
import { type Missing, missingIn } from '../../tools/cli/shared/missing.js'
import type { ChainEvidence, ExecutedTx } from './walk.js'
import type { AskedItem } from './workload.js'

/** The sender's final report of one item. */
export type ReportedItem = { readonly item: number; readonly nonce?: number | undefined } & (
  | {
      readonly outcome: 'landed'
      readonly nonce: number
      readonly hash: Hex
      readonly status: 'success' | 'reverted'
    }
  /** The sender reported that the item was not executed and never will be. */
  | { readonly outcome: 'notExecuted'; readonly why: string }
  /** The sender reported neither. */
  | { readonly outcome: 'open'; readonly why: string }
)

export type Verdict = {
  readonly requested: number
  /** Items in sealed blocks, including reverted ones. */
  readonly sealed: number
  readonly reverted: number
  /** Items that the sender reported as never executed, and that are absent from the chain. */
  readonly failed: number
  /** Nonces between the first and the last without a sealed transaction of the key. */
  readonly gaps: number
  /** Executions of an item beyond its first. */
  readonly duplicates: number
  /** Items neither on the chain nor reported as never executed. */
  readonly lost: number
  /** Differences between the blocks and the sender's reports, the requests or the contract's storage. */
  readonly contradictions: number
  /** Transactions of the key that were not requested: reported no-ops, and all others. */
  readonly noops: number
  readonly foreign: number
  readonly ok: boolean
  /** The first findings, one sentence each. */
  readonly problems: readonly string[]
}

type Finding = {
  readonly kind: 'gap' | 'duplicate' | 'lost' | 'contradiction'
  readonly text: string
  /** @default 1 */
  readonly times?: number
}

const PROBLEMS_MAX = 20

/**
 * Compares the requests with the chain. The blocks decide; the sender's reports come last, so that a sender
 * that reports everything as landed cannot change the lost and duplicate counts.
 */
export function checkRun(run: {
  readonly asked: readonly AskedItem[]
  readonly reported: readonly ReportedItem[]
  readonly evidence: ChainEvidence
  /** Hashes of known transactions without an item: the ledger's deployment. */
  readonly setup: ReadonlySet<Hex>
  /** Nonces that the sender reported as used by a no-op. */
  readonly noops: ReadonlySet<number>
}): Verdict {
  const { asked, evidence } = run
  const { byItem, others } = sortOut(asked, evidence.transactions)
  const reported = new Map(run.reported.map((one) => [one.item, one]))
  const findings: Finding[] = [
    ...asked.flatMap((one) =>
      itemFindings(
        one,
        byItem.get(one.item) ?? [],
        reported.get(one.item),
        evidence.marks.get(one.item) ?? 0,
      ),
    ),
    ...chainFindings(evidence, run.reported),
  ]
  const times = (kind: Finding['kind']) =>
    findings.reduce((sum, finding) => sum + (finding.kind === kind ? (finding.times ?? 1) : 0), 0)
  const failed = asked.filter(
    ({ item }) => !byItem.has(item) && reported.get(item)?.outcome === 'notExecuted',
  )
  const noops = others.filter(({ nonce }) => run.noops.has(nonce)).length
  const setup = others.filter(({ hash }) => run.setup.has(hash)).length
  return {
    requested: asked.length,
    sealed: byItem.size,
    reverted: [...byItem.values()].filter(([first]) => first?.status === 'reverted').length,
    failed: failed.length,
    gaps: times('gap'),
    duplicates: times('duplicate'),
    lost: times('lost'),
    contradictions: times('contradiction'),
    noops,
    foreign: others.length - noops - setup,
    ok: findings.length === 0,
    problems: findings.slice(0, PROBLEMS_MAX).map(({ text }) => text),
  }
}

function itemFindings(
  asked: AskedItem,
  executions: readonly ExecutedTx[],
  said: ReportedItem | undefined,
  marks: number,
): Finding[] {
  const name = `item ${asked.item} (${asked.kind})`
  const findings: Finding[] = []
  const executed = Math.max(executions.length, marks)
  if (executed > 1) {
    const text = `${name} was executed ${executed} times: ${executions.map(shown).join(', ')}`
    findings.push({ kind: 'duplicate', text, times: executed - 1 })
  }
  if (executions.length === 0 && said?.outcome !== 'notExecuted') {
    findings.push({ kind: 'lost', text: `${name} is lost: ${words(said)}` })
  }
  for (const against of contradictionsOf(asked, executions, said, marks)) {
    findings.push({ kind: 'contradiction', text: `${name} ${against}` })
  }
  return findings
}

function chainFindings(evidence: ChainEvidence, reported: readonly ReportedItem[]): Finding[] {
  const { count, lowest } = missingNonces(evidence, reported)
  const findings = lowest.map((nonce): Finding => ({ kind: 'gap', text: `nonce ${nonce} is empty` }))
  const more = count - lowest.length
  if (more > 0) findings.push({ kind: 'gap', text: `${more} more nonces above them are empty` })
  for (const nonce of evidence.waiting) {
    if (nonce < evidence.count) continue
    const text = `a transaction with nonce ${nonce} still waits in the pool and may execute later`
    findings.push({ kind: 'contradiction', text })
  }
  // The ledger also counts its own deployment.
  const total = [...evidence.marks.values()].reduce((sum, marks) => sum + marks, 1)
  if (evidence.total !== total) {
    const text = `the contract counted ${evidence.total} marks, but its items add up to ${total}`
    findings.push({ kind: 'contradiction', text })
  }
  return findings
}

/**
 * Matches transactions by content, not by hash: the requests are known, but only the sender knows the signed
 * hashes.
 */
function sortOut(asked: readonly AskedItem[], transactions: readonly ExecutedTx[]) {
  const itemOf = new Map(asked.map(({ item, request }) => [carried(request), item]))
  const byItem = new Map<number, ExecutedTx[]>()
  const others: ExecutedTx[] = []
  for (const transaction of transactions) {
    const item = itemOf.get(carried(transaction))
    if (item === undefined) others.push(transaction)
    else byItem.set(item, [...(byItem.get(item) ?? []), transaction])
  }
  return { byItem, others }
}

function carried(fields: { to?: string | undefined; data?: string | undefined; value: bigint }): string {
  return `${fields.to ?? 'new'} ${fields.data ?? '0x'} ${fields.value}`.toLowerCase()
}

function contradictionsOf(
  { kind }: AskedItem,
  executions: readonly ExecutedTx[],
  said: ReportedItem | undefined,
  marks: number,
): string[] {
  const [first] = executions
  const found: string[] = []
  if (first === undefined) return marks > 0 ? ['left a mark in the contract without a transaction'] : []
  const status = kind === 'reverting' ? 'reverted' : 'success'
  if (first.status !== status) found.push(`has status ${first.status} in ${shown(first)}`)
  const shouldMark = (kind === 'call' || kind === 'deployment') && first.status === 'success'
  if (shouldMark !== marks > 0) found.push(`has ${marks} marks in the contract, ${shown(first)}`)
  if (said?.outcome === 'notExecuted') found.push(`was reported as never executed and is in ${shown(first)}`)
  if (said?.outcome !== 'landed') return found
  const same = executions.find(({ hash }) => hash === said.hash)
  if (same === undefined) found.push(`was reported as ${said.hash} and is in ${shown(first)}`)
  else if (same.nonce !== said.nonce || same.status !== said.status)
    found.push(`was reported with nonce ${said.nonce}, ${said.status}, and is in ${shown(same)}`)
  return found
}

/**
 * Nonces above the chain's count are only included below a pooled transaction or a nonce that the sender
 * reported.
 */
function missingNonces(evidence: ChainEvidence, reported: readonly ReportedItem[]): Missing {
  const seen = [...evidence.transactions.map(({ nonce }) => nonce), ...evidence.waiting]
  const notified = reported.flatMap(({ outcome, nonce }) => (outcome === 'notExecuted' ? [] : (nonce ?? [])))
  const above = [...evidence.waiting, ...notified].map((nonce) => nonce + 1)
  const end = above.reduce((most, one) => Math.max(most, one), evidence.count)
  return missingIn(
    evidence.firstNonce,
    end,
    seen.sort((a, b) => a - b),
  )
}

function words(said: ReportedItem | undefined): string {
  if (said === undefined) return 'nothing was reported'
  return said.outcome === 'landed' ? `reported as landed in ${said.hash}` : said.why
}

function shown({ blockNumber, nonce, hash, status }: ExecutedTx): string {
  return `block ${blockNumber}, nonce ${nonce}, ${status}, ${hash}`
}
