import type { Address, Hex } from 'viem'
import type { TxlaneErrorCode } from '../../src/errors/base.js'
import { type Ask, dataOf, replacementOf, type Tell, targetOf } from './asks.js'
import type { ChainFacts, Executed } from './chain.js'

/** What was asked for, what was told, and what the chain has of one account that began at nonce 0. */
export type Evidence = {
  readonly account: Address
  readonly asks: readonly Ask[]
  /** Of all lives, in the order of their telling. */
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

type Failed = Extract<Tell, { tell: 'failed' }>
type Finding = 'duplicates' | 'lost' | 'gaps' | 'foreign' | 'contradictions'

// The call was refused, which says nothing of the transaction: it may be asked for again under the same id.
const REFUSALS: ReadonlySet<TxlaneErrorCode> = new Set([
  'LEASE_LOST',
  'QUEUE_FULL',
  'STORE',
  'INVALID',
  'UNSUPPORTED',
  'CHAIN_MISMATCH',
])

/** It was told that the transaction never ran and never will (P5). */
export function saysEnded(tell: Tell): boolean {
  if (tell.tell === 'cancelled') return tell.result !== 'tooLate'
  return tell.tell === 'failed' && tell.fate === 'notExecuted' && !REFUSALS.has(tell.code)
}

/** Holds what a caller was told against the blocks. It uses nothing of the library's books. */
export function check({ account, asks, told, chain }: Evidence): Verdict {
  const found = { duplicates: 0, lost: 0, gaps: 0, foreign: 0, contradictions: 0 }
  const problems: string[] = []
  const find = (what: Finding, line: string, times = 1) => {
    found[what] += times
    problems.push(`${what}: ${line}`)
  }
  const known = new Map<string, Executed[]>()
  for (const ask of asks) for (const id of idsOf(ask)) known.set(keyOf(dataOf(id), targetOf(ask)), [])
  let noops = 0
  for (const tx of chain.executed) {
    const own = known.get(keyOf(tx.data, tx.to))
    if (own) own.push(tx)
    else if (isNoop(tx, account)) noops++
    else find('foreign', `nonce ${tx.nonce} of the account holds ${tx.hash}, which nobody asked for`)
  }
  const executedOf = (ask: Ask, id: string) => known.get(keyOf(dataOf(id), targetOf(ask))) ?? []
  const tells = byId(told)
  let transactions = 0
  for (const ask of asks) {
    if (ask.kind === 'returned') continue
    for (const id of idsOf(ask)) {
      const executed = executedOf(ask, id)
      const said = tells.get(id) ?? []
      if (id === ask.id || executed.length > 0 || inPlay(ask, tells)) transactions++
      if (executed.length > 1)
        find(
          'duplicates',
          `${id} executed at nonces ${executed.map(({ nonce }) => nonce)}`,
          executed.length - 1,
        )
      if (executed.length === 0 && mustLand(ask, id, tells)) find('lost', `${id} never executed`)
      for (const line of contradictionsOf(said, executed)) find('contradictions', `${id} ${line}`)
    }
    if (ask.kind === 'replace' && idsOf(ask).every((id) => executedOf(ask, id).length > 0))
      find('duplicates', `${ask.id} executed, and so did what took its place`)
  }
  for (const line of gapsOf(chain)) find('gaps', line)
  const executed = [...known.values()].filter(({ length }) => length > 0).length
  return { transactions, executed, noops, ...found, problems }
}

/** An ask of the kind `replace` stands for two transactions. */
function idsOf({ id, kind }: Ask): readonly string[] {
  return kind === 'replace' ? [id, replacementOf(id)] : [id]
}

function keyOf(data: Hex, to: Address | null): string {
  return `${data} ${to?.toLowerCase()}`
}

function isNoop({ to, value, data }: Executed, account: Address): boolean {
  return to?.toLowerCase() === account.toLowerCase() && value === 0n && data === '0x'
}

function byId(told: readonly Tell[]): ReadonlyMap<string, readonly Tell[]> {
  const tells = new Map<string, Tell[]>()
  for (const tell of told) {
    if (!('id' in tell)) continue
    const said = tells.get(tell.id)
    if (said) said.push(tell)
    else tells.set(tell.id, [tell])
  }
  return tells
}

type Tells = ReadonlyMap<string, readonly Tell[]>

/** The replacement was taken on: it was kept, or what it replaces made way for it. */
function inPlay(ask: Ask, tells: Tells): boolean {
  const madeWay = tells.get(ask.id)?.some((tell) => tell.tell === 'failed' && tell.code === 'SUPERSEDED')
  const kept = tells.get(replacementOf(ask.id))?.some(({ tell }) => tell === 'kept' || tell === 'sealed')
  return madeWay === true || kept === true
}

function mustLand(ask: Ask, id: string, tells: Tells): boolean {
  const said = tells.get(id) ?? []
  if (said.some(saysEnded)) return false
  // Only what was committed is anybody's but the user's, who did not come to the sending of it.
  if (ask.kind === 'allocated') return said.some(({ tell }) => tell === 'kept')
  return id === ask.id || inPlay(ask, tells)
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

function saysExecuted(tell: Tell): boolean {
  if (tell.tell === 'cancelled') return tell.result === 'tooLate'
  return tell.tell === 'sealed' || (tell.tell === 'failed' && tell.fate === 'executed')
}

function words(tell: Tell): string {
  if (tell.tell === 'cancelled') return `cancelled (${tell.result})`
  if (tell.tell === 'sealed') return `sealed (${tell.status}) in ${tell.hash} at nonce ${tell.nonce}`
  const { code, fate, message } = tell as Failed
  return `failed (${code}, ${fate}: ${message})`
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
