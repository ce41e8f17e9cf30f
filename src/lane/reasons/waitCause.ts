import { feeCap } from '../../ledger/fees.js'
import { lastClaim, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { HoldReason, Stage } from '../../types/index.js'
import type { WaitCause, WaitReason } from '../../types/wait.js'

/** The known facts about one transaction. */
export type TxFacts = {
  readonly id: string
  readonly stage: Stage
  readonly nonce: number | undefined
  readonly hash: string | undefined
  /**
   * Whether it ended without execution. `unreported`: the store has not confirmed the end yet, so callers do not
   * see it.
   */
  readonly ended: 'no' | 'reported' | 'unreported'
  readonly unresolved: boolean
  /** The store has the transaction, which is not being handed to another lane. */
  readonly isStored: boolean
  /** The cause that delays its preparation. Undefined before the first answer, and once it is prepared. */
  readonly aside: WaitCause | undefined
  readonly ready: boolean
  /** The bound of its group, if that keeps the group from taking a nonce now. */
  readonly group: Extract<WaitCause, { for: 'group' }> | undefined
  /** The id of the transaction before it in the queue. */
  readonly behind: string | undefined
  readonly slot: Slot | undefined
  /** The last refusal by an endpoint. */
  readonly refusal: { readonly endpoint: string; readonly said: string } | undefined
  /** The receipt, or the stage beyond `sealed`, that a caller waits for. */
  readonly wanted: 'receipt' | 'safe' | 'finalized' | undefined
  /** The last message of an endpoint about its receipt. */
  readonly receiptSaid: string | undefined
}

/** The known facts about its lane. */
export type LaneFacts = {
  readonly holds: readonly HoldReason[]
  readonly holdDetails: Partial<Record<HoldReason, string>>
  readonly feesKnown: boolean
  readonly hasRoom: boolean
  readonly window: { readonly size: number; readonly uncovered: number }
  /**
   * Maximum cost of the first queued transaction, if the balance cannot pay for it in addition to the
   * transactions in flight.
   */
  readonly shortWei: bigint | undefined
  readonly balanceWei: bigint | undefined
  readonly head: number | undefined
  readonly baseFeeWei: bigint | undefined
  readonly floor: number
  /** The lowest nonce, from the floor up, for which no endpoint has accepted a transaction. */
  readonly lowestOpen: number
  /** The lowest nonce whose signed bytes are not in the store. */
  readonly lowestUncommitted: number | undefined
  /** The endpoint for reads and the endpoint for sends, each with its current problem. */
  readonly reader: EndpointFacts
  readonly sender: EndpointFacts
}

type EndpointFacts = { readonly name: string; readonly said: string | undefined }

/** Derives the cause of the wait from the facts. Undefined if the transaction waits for nothing. */
export function waitCauseOf(tx: TxFacts, lane: LaneFacts): WaitCause | undefined {
  if (tx.ended !== 'no') return tx.ended === 'unreported' ? { for: 'journal' } : undefined
  if (tx.unresolved) return { for: 'evidence', nonce: undefined }
  if (!tx.isStored) return { for: 'journal' }
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
  const offeredWei = feeCap(newest.fees)
  const { baseFeeWei, reader } = lane
  if (nonce === lane.floor && baseFeeWei !== undefined && offeredWei < baseFeeWei)
    return { for: 'fee', endpoint: reader.name, offeredWei, baseFeeWei }
  return { for: 'block', head: lane.head, said: reader.said }
}

/**
 * The cause for a transaction that another process works, derived from its stage. It is used if the store has
 * no reason from that process.
 */
export function waitCauseByStage({
  stage,
  ended,
  unresolved,
  ...tx
}: Pick<TxFacts, 'stage' | 'ended' | 'unresolved' | 'wanted' | 'hash' | 'receiptSaid'>):
  | WaitCause
  | undefined {
  if (ended !== 'no') return ended === 'unreported' ? { for: 'journal' } : undefined
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

const IN_QUEUE: ReadonlySet<WaitReason['for']> = new Set([
  'estimate',
  'condition',
  'order',
  'funds',
  'hold',
  'window',
])
const UNTIL_ACCEPTED: ReadonlySet<WaitReason['for']> = new Set(['endpoint', 'signature', 'journal'])
const UNACCEPTED: ReadonlySet<Stage> = new Set(['queued', 'signed'])
const UNSEALED: ReadonlySet<Stage> = new Set(['queued', 'signed', 'accepted', 'preconfirmed'])

/**
 * Whether the reason still fits the stage of the transaction. A reason from an earlier stage is out of date.
 */
export function isTimely(
  waiting: WaitReason,
  { stage, nonce }: { readonly stage: Stage; readonly nonce: number | undefined },
): boolean {
  if (IN_QUEUE.has(waiting.for)) return nonce === undefined && stage === 'queued'
  if (UNTIL_ACCEPTED.has(waiting.for)) return nonce !== undefined && UNACCEPTED.has(stage)
  return UNSEALED.has(stage)
}
