import type { Address } from 'viem'
import type { TxlaneErrorCode } from '../../src/errors/base.js'
import { type Ask, dataOf, replacementOf, TARGET, type Tell } from './asks.js'
import type { ChainFacts, Executed } from './chain.js'

/** What was asked for, what was told, and what the chain has of one account that began at nonce 0. */
export type Evidence = {
  readonly account: Address
  readonly asks: readonly Ask[]
  /** Of all processes and all their lives. */
  readonly told: readonly Tell[]
  readonly chain: ChainFacts
}

export type Verdict = {
  readonly transactions: number
  readonly executed: number
  readonly noops: number
  readonly duplicates: number
  readonly lost: number
  readonly gaps: number
  readonly foreign: number
  readonly contradictions: number
  /** One line for each of what was counted above. */
  readonly problems: readonly string[]
}

type Finding = 'duplicates' | 'lost' | 'gaps' | 'foreign' | 'contradictions'

// The call was refused, which says nothing of the transaction: it may be asked for again under the same id.
const REFUSALS: ReadonlySet<TxlaneErrorCode> = new Set([
  'LEASE_LOST',
  'QUEUE_FULL',
  'STORE',
  'CLOSED',
  'INVALID',
  'UNSUPPORTED',
  'CHAIN_MISMATCH',
])

/** It was told that the transaction never ran and never will (P5). */
function saysEnded(tell: Tell): boolean {
  if (tell.tell === 'cancelled') return tell.result !== 'tooLate'
  return tell.tell === 'failed' && tell.fate === 'notExecuted' && !REFUSALS.has(tell.code)
}

function saysExecuted(tell: Tell): boolean {
  if (tell.tell === 'cancelled') return tell.result === 'tooLate'
  return tell.tell === 'sealed' || (tell.tell === 'failed' && tell.fate === 'executed')
}

/** Holds what the processes were told against the blocks. It uses nothing of the library's books. */
export function check({ account, asks, told, chain }: Evidence): Verdict {
  const found = { duplicates: 0, lost: 0, gaps: 0, foreign: 0, contradictions: 0 }
  const problems: string[] = []
  const find = (what: Finding, line: string, times = 1) => {
    found[what] += times
    problems.push(`${what}: ${line}`)
  }
  const byId = new Map<string, Executed[]>(asks.flatMap(idsOf).map((id) => [id, []]))
  const byData = new Map([...byId].map(([id, executed]) => [dataOf(id) as string, executed]))
  let noops = 0
  for (const tx of chain.executed) {
    const own = tx.to?.toLowerCase() === TARGET && tx.value === 0n ? byData.get(tx.data) : undefined
    if (own) own.push(tx)
    else if (isNoop(tx, account)) noops++
    else find('foreign', `nonce ${tx.nonce} of ${account} holds ${tx.hash}, which nobody asked for`)
  }
  const tells = tellsById(told)
  let transactions = 0
  for (const ask of asks) {
    for (const id of idsOf(ask)) {
      const executed = byId.get(id) ?? []
      const said = tells.get(id) ?? []
      const wanted = id === ask.id || inPlay(ask, tells)
      if (wanted || executed.length > 0) transactions++
      if (executed.length > 1)
        find(
          'duplicates',
          `${id} executed at nonces ${executed.map(({ nonce }) => nonce)}`,
          executed.length - 1,
        )
      if (executed.length === 0 && wanted && !said.some(saysEnded)) find('lost', `${id} never executed`)
      for (const line of contradictionsOf(said, executed)) find('contradictions', `${id} ${line}`)
    }
    if (ask.kind === 'replace' && idsOf(ask).every((id) => byId.get(id)?.length))
      find('duplicates', `${ask.id} executed, and so did what took its place`)
  }
  for (const line of gapsOf(chain)) find('gaps', line)
  const executed = [...byId.values()].filter(({ length }) => length > 0).length
  return { transactions, executed, noops, ...found, problems }
}

/** An ask of the kind `replace` stands for two transactions. */
function idsOf({ id, kind }: Ask): readonly string[] {
  return kind === 'replace' ? [id, replacementOf(id)] : [id]
}

function isNoop({ to, value, data }: Executed, account: Address): boolean {
  return to?.toLowerCase() === account.toLowerCase() && value === 0n && data === '0x'
}

type Tells = ReadonlyMap<string, readonly Tell[]>

function tellsById(told: readonly Tell[]): Tells {
  const tells = new Map<string, Tell[]>()
  for (const tell of told) {
    if (!('id' in tell)) continue
    const said = tells.get(tell.id)
    if (said) said.push(tell)
    else tells.set(tell.id, [tell])
  }
  return tells
}

/** The replacement was taken on: it was kept, or what it replaces made way for it. */
function inPlay(ask: Ask, tells: Tells): boolean {
  const madeWay = tells.get(ask.id)?.some((tell) => tell.tell === 'failed' && tell.code === 'SUPERSEDED')
  const kept = tells.get(replacementOf(ask.id))?.some(({ tell }) => tell === 'kept' || tell === 'sealed')
  return madeWay === true || kept === true
}

function contradictionsOf(said: readonly Tell[], executed: readonly Executed[]): readonly string[] {
  const lines = new Set<string>()
  const [first] = executed
  for (const tell of said) {
    if (saysEnded(tell) && first)
      lines.add(`was told as ${words(tell)} and executed at nonce ${first.nonce}, block ${first.blockNumber}`)
    if (saysExecuted(tell) && !first) lines.add(`was told as ${words(tell)} and never executed`)
    if (tell.tell !== 'sealed' || !first) continue
    const { hash, nonce, status } = tell
    if (!executed.some((tx) => tx.hash === hash && tx.nonce === nonce && tx.status === status))
      lines.add(`was told as ${words(tell)}, and the chain has ${first.status} in ${first.hash}`)
  }
  return [...lines]
}

function words(tell: Tell): string {
  if (tell.tell === 'cancelled') return `cancelled (${tell.result})`
  if (tell.tell === 'sealed') return `sealed (${tell.status}) in ${tell.hash} at nonce ${tell.nonce}`
  if (tell.tell === 'failed') return `failed (${tell.code}, ${tell.fate}: ${tell.message})`
  return tell.tell
}

/** A nonce that was used by nothing that stands in a block, and whatever keeps the account from being at rest. */
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
