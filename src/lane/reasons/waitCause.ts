import type { Slot } from '../../ledger/slot.js'
import { lastClaim, newestAttempt } from '../../ledger/slot.js'
import type { HoldReason, Stage } from '../../types/index.js'
import type { WaitCause } from '../../types/wait.js'

/** What is known of one transaction. */
export type TxFacts = {
  readonly id: string
  readonly stage: Stage
  readonly nonce: number | undefined
  readonly hash: string | undefined
  /** It ended without execution, which the store may have to be told before anybody else is. */
  readonly ended: 'no' | 'told' | 'untold'
  readonly unresolved: boolean
  /** The store has it, and no other lane is to take it. */
  readonly kept: boolean
  /** What its preparation waits for; undefined where it was not answered yet, or is done. */
  readonly aside: WaitCause | undefined
  readonly ready: boolean
  /** What holds its group back, where it has one that may not take a nonce now. */
  readonly group: Extract<WaitCause, { for: 'group' }> | undefined
  /** The transaction that stands before it in the queue. */
  readonly behind: string | undefined
  readonly slot: Slot | undefined
  /** What an endpoint last said instead of taking it. */
  readonly refusal: { readonly endpoint: string; readonly said: string } | undefined
  /** A caller waits for its receipt, or for a stage beyond `sealed`. */
  readonly wanted: 'receipt' | 'safe' | 'finalized' | undefined
  /** What was last said of its receipt. */
  readonly receiptSaid: string | undefined
}

/** What is known of its lane. */
export type LaneFacts = {
  readonly holds: readonly HoldReason[]
  readonly holdDetails: Partial<Record<HoldReason, string>>
  readonly feesKnown: boolean
  readonly hasRoom: boolean
  readonly window: { readonly size: number; readonly uncovered: number }
  /** What the first in line may cost, where the balance is too small for it beside what is in flight. */
  readonly shortWei: bigint | undefined
  readonly balanceWei: bigint | undefined
  readonly head: number | undefined
  readonly baseFeeWei: bigint | undefined
  readonly floor: number
  /** The lowest nonce, from the floor up, that no endpoint has accepted something for. */
  readonly lowestOpen: number
  /** The lowest nonce whose bytes are not in the store. */
  readonly lowestUncommitted: number | undefined
  /** The endpoint that is read, and the one that is handed transactions, each with what is wrong with it. */
  readonly reader: EndpointFacts
  readonly sender: EndpointFacts
}

export type EndpointFacts = { readonly name: string; readonly said: string | undefined }

/** What the transaction waits for, from what is known; undefined where nothing is waited for. */
export function waitCauseOf(tx: TxFacts, lane: LaneFacts): WaitCause | undefined {
  if (tx.ended !== 'no') return tx.ended === 'untold' ? { for: 'journal' } : undefined
  if (tx.unresolved) return { for: 'evidence', nonce: undefined }
  if (!tx.kept) return { for: 'journal' }
  if (tx.nonce === undefined) return queuedCause(tx, lane)
  const { slot } = tx
  if (slot?.state === 'reserved') return reservedCause(slot, lane)
  if (slot?.state === 'live') return liveCause(tx, slot, lane)
  if (slot?.state === 'used' && (slot.by.kind !== 'claim' || slot.by.claim !== tx.id))
    return { for: 'evidence', nonce: slot.nonce }
  return sealedCause(tx)
}

function queuedCause(tx: TxFacts, lane: LaneFacts): WaitCause {
  if (tx.aside) return tx.aside
  if (!tx.ready) return { for: 'estimate', endpoint: lane.reader.name, tries: 0, said: lane.reader.said }
  if (lane.holds.includes('starved')) return fundsCause(lane)
  if (lane.holds.length > 0) return { for: 'hold', holds: lane.holds, details: lane.holdDetails }
  if (tx.group) return tx.group
  if (tx.behind !== undefined && lane.hasRoom && lane.feesKnown && lane.shortWei === undefined)
    return { for: 'order', behind: tx.behind }
  if (!lane.feesKnown) return { for: 'fee', endpoint: lane.reader.name, said: lane.reader.said }
  if (!lane.hasRoom) return { for: 'window', ...lane.window }
  return lane.shortWei === undefined ? { for: 'order', behind: tx.behind } : fundsCause(lane)
}

function fundsCause({ shortWei, balanceWei }: LaneFacts): WaitCause {
  return { for: 'funds', neededWei: shortWei, balanceWei }
}

function reservedCause(slot: Extract<Slot, { state: 'reserved' }>, { holds }: LaneFacts): WaitCause {
  const isWritten = slot.committing > 0 || holds.includes('unknownCommit')
  return isWritten ? { for: 'journal' } : { for: 'signature', failed: false }
}

function liveCause(tx: TxFacts, slot: Extract<Slot, { state: 'live' }>, lane: LaneFacts): WaitCause {
  const { nonce } = slot
  const newest = newestAttempt(slot)
  if (slot.displaced) return { for: 'evidence', nonce }
  if (slot.preconfirmed !== undefined || lastClaim(slot) !== tx.id) return { for: 'block', head: lane.head }
  if (newest === undefined) return { for: 'signature', failed: false }
  const { lowestUncommitted, sender } = lane
  if (!newest.accepted) {
    if (newest.sends === 0 && lane.lowestOpen < nonce) return { for: 'nonce', nonce: lane.lowestOpen }
    if (lowestUncommitted !== undefined && lowestUncommitted < nonce)
      return { for: 'nonce', nonce: lowestUncommitted }
    return tx.refusal
      ? { for: 'endpoint', ...tx.refusal }
      : { for: 'endpoint', endpoint: sender.name, said: sender.said }
  }
  if (lane.lowestOpen < nonce) return { for: 'nonce', nonce: lane.lowestOpen }
  const { fees } = newest
  const offeredWei = 'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas
  const { baseFeeWei, reader } = lane
  if (nonce === lane.floor && baseFeeWei !== undefined && offeredWei < baseFeeWei)
    return { for: 'fee', endpoint: reader.name, offeredWei, baseFeeWei }
  return { for: 'block', head: lane.head, said: reader.said }
}

/**
 * What can be told of a transaction that another process works: what that process has kept of its reason, else what its
 * stage says.
 */
export function waitCauseByStage({
  stage,
  ended,
  unresolved,
  ...tx
}: Pick<TxFacts, 'stage' | 'ended' | 'unresolved' | 'wanted' | 'hash' | 'receiptSaid'>):
  | WaitCause
  | undefined {
  if (ended !== 'no') return ended === 'untold' ? { for: 'journal' } : undefined
  if (unresolved) return { for: 'evidence', nonce: undefined }
  switch (stage) {
    case 'queued':
      return { for: 'order', behind: undefined }
    case 'signed':
      return { for: 'endpoint', endpoint: 'of the process that holds the lane', said: undefined }
    case 'accepted':
    case 'preconfirmed':
      return { for: 'block', head: undefined }
    default:
      return sealedCause(tx)
  }
}

function sealedCause({
  wanted,
  hash,
  receiptSaid,
}: Pick<TxFacts, 'wanted' | 'hash' | 'receiptSaid'>): WaitCause | undefined {
  if (wanted === undefined) return undefined
  if (wanted === 'receipt') return { for: 'receipt', hash, said: receiptSaid }
  return { for: 'finality', stage: wanted }
}
