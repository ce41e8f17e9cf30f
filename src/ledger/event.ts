import type { Hash } from 'viem'
import type { Attempt, BlockRef, Slot } from './slot.js'

/**
 * The result of one send to one endpoint, in the categories that the table distinguishes (design section 5).
 * `counted` is a refusal that no retry at this node can fix; `refused` is any other refusal.
 */
export type OutcomeKind =
  | 'accepted'
  | 'unknown'
  | 'intrinsic'
  | 'counted'
  | 'feeTooLow'
  | 'underpriced'
  | 'nonceTooLow'
  | 'refused'

/** The situation of a nonce whose bytes no bump can get accepted; the fields are as in `stuck`. */
export type Beyond = {
  readonly head: boolean
  readonly fillable: boolean
  readonly signer: boolean
  readonly token: number
}

/** An event for a slot. The shell turns observations into events and makes no decisions. */
export type SlotEvent =
  | { readonly type: 'reserve'; readonly claim: string; readonly token: number }
  /** `waiting`: the queue has a transaction that could take the nonce. `boundAbove`: the hole is a gap. */
  | {
      readonly type: 'gapTimer'
      readonly boundAbove: boolean
      readonly waiting: boolean
      readonly token: number
    }
  /**
   * Bytes signed under this token are about to be handed to the store. Row 0: they are stale, discard them.
   * Row 4: hand them over, then apply `journaled` or `notCommitted` once the result is known. Until then no
   * event frees the nonce.
   */
  | { readonly type: 'committing'; readonly token: number; readonly claim: string | undefined }
  /** `stored`: the store already has the slot that this event produces. */
  | {
      readonly type: 'journaled'
      readonly token: number
      readonly attempt: Attempt
      readonly stored?: boolean
    }
  | { readonly type: 'commitUnknown'; readonly token: number }
  /** The store was read again: it does not contain the bytes, and never will. */
  | { readonly type: 'notCommitted' }
  | {
      readonly type: 'withdraw'
      readonly claim: string
      /**
       * `failed`: the transaction ends. `again`: the transaction is queued again. `again` is ignored for a
       * replacement, because a replacement may only use the nonce of the transaction that it replaces.
       */
      readonly why: 'failed' | 'again'
    }
  | { readonly type: 'seeded' }
  | { readonly type: 'handOut' }
  | { readonly type: 'outsideCommitted'; readonly attempt: Attempt }
  | { readonly type: 'released' }
  | { readonly type: 'ttl'; readonly signer: boolean; readonly token: number }
  | {
      readonly type: 'stuck'
      readonly head: boolean
      /** The next bump of the bytes sent here would exceed its ceiling. */
      readonly atCeiling: boolean
      /** The newest attempt pays the base fee, so the same bytes can be included. */
      readonly priced: boolean
      /** A no-op that outbids the bytes sent here stays within the lane's ceiling and pays the base fee. */
      readonly fillable: boolean
      readonly signer: boolean
      readonly token: number
    }
  /** Applied before the bytes are written to the endpoint, in every state: row 14 relies on it. */
  | { readonly type: 'sent'; readonly hash: Hash }
  | {
      readonly type: 'outcome'
      readonly hash: Hash
      readonly outcome: OutcomeKind
      readonly epoch: number
      /** For `underpriced`: the refusal states the fees that the pool accepts for a replacement. */
      readonly stated?: boolean | undefined
      /**
       * For `feeTooLow`: the minimum fee that the node states exceeds the highest fee that a bump may offer.
       */
      readonly beyond?: Beyond | undefined
    }
  | { readonly type: 'cancel'; readonly token: number }
  | { readonly type: 'replace'; readonly claim: string; readonly token: number }
  /** `named`: the caller named fees, so that a newly signed attempt is certain to be within a ceiling. */
  | { readonly type: 'speedUp'; readonly named: boolean; readonly token: number }
  | { readonly type: 'preconfirmed'; readonly hash: Hash; readonly blockNumber: number }
  | { readonly type: 'notPreconfirmed'; readonly blockNumber: number }
  | {
      readonly type: 'sealed'
      readonly hash: Hash
      readonly block: BlockRef
      /**
       * The block is on the chain that is walked, so this event overrides earlier beliefs about the nonce.
       */
      readonly walked?: boolean | undefined
    }
  /**
   * The body of `block` contains a witness (rule W): the nonce is used by a transaction that is not ours. The
   * event is ignored while a commit is under way at a reserved nonce. The lane therefore keeps looking for
   * evidence as long as the count has passed the nonce.
   */
  | {
      readonly type: 'evidence'
      readonly block: BlockRef
      /**
       * The transaction that is the witness, or that carries it. It is undefined for CREATE in delegated
       * code.
       */
      readonly hash: Hash | undefined
      /**
       * A transaction of this lane in the same block carries authorizations of the account (EIP-7702). Each
       * of its valid tuples uses a nonce, so the use is not foreign.
       */
      readonly authorized?: boolean | undefined
    }
  /**
   * The count at a block `lossDepth` deep is above the nonce, and for longer than the patience no endpoint
   * has served the body that must contain the witness. This is a belief, which `refuted` takes back.
   */
  | { readonly type: 'passed' }
  /**
   * A lower count was confirmed: the count that had passed the nonce was wrong, and so was an operator's word
   * that relied on it.
   */
  | { readonly type: 'refuted'; readonly token: number }
  /**
   * The body of the block that was believed to contain the witness was read again and does not contain it.
   */
  | { readonly type: 'unwitnessed'; readonly block: BlockRef; readonly token: number }
  /**
   * The claim has executed at another nonce, to which it was bound before. It must not execute here as well.
   */
  | { readonly type: 'executedElsewhere'; readonly claim: string; readonly token: number }
  /** The operator's word about the named claim, and about no other. */
  | { readonly type: 'resolve'; readonly claim: string; readonly fate: 'executed' | 'notExecuted' }
  /** The block left the chain. Applied before the events of the blocks that replace it. */
  | { readonly type: 'left'; readonly block: BlockRef; readonly token: number }
  /** The block that used the nonce is `lossDepth` deep on the chain that is walked. */
  | { readonly type: 'lossDepth' }
  | {
      readonly type: 'horizon'
      /**
       * The block is not final yet, so the store keeps the record: unchanged, or without the attempts. The
       * book prunes the slot all the same, because its block is below the walked history.
       */
      readonly record?: 'unchanged' | 'compact'
    }

/** The actions that a transition requests from the shell, in this order. */
export type SlotAction =
  /**
   * Sign the claim's first attempt at this nonce. It may be requested again under the same token, like
   * `noop`.
   */
  | { readonly do: 'sign'; readonly claim: string; readonly token: number }
  /** Sign a self-transfer of 0 that uses up the nonce and outbids every attempt of the slot. */
  | { readonly do: 'noop'; readonly token: number }
  /** Sign the newest attempt's content again with higher fees. Each rejected replacement makes the step larger. */
  | { readonly do: 'bump'; readonly token: number; readonly replacementRejections: number }
  | { readonly do: 'broadcast'; readonly hash: Hash }
  /** Send the same bytes again at the lane's next resend. */
  | { readonly do: 'resend'; readonly hash: Hash }
  | { readonly do: 'backOff'; readonly hash: Hash }
  /** Look for evidence of the transaction that used the nonce. */
  | { readonly do: 'findEvidence' }
  | { readonly do: 'readAgain' }
  | { readonly do: 'queueAgain'; readonly claim: string }
  | { readonly do: 'end'; readonly claim: string; readonly as: EndAs }
  | { readonly do: 'landed'; readonly claim: string; readonly hash: Hash | undefined }
  /**
   * A claim of this nonce has executed here after all: end the named claim wherever it is queued or bound
   * now.
   */
  | { readonly do: 'reclaim'; readonly claim: string }
  | { readonly do: 'hold'; readonly reason: 'deepReorg' }
  | { readonly do: 'emit'; readonly event: EmittedEvent }
  | { readonly do: 'prune' }

/** How a transaction ends without executing. `rejected` and `voided` are reported as `failed`. */
export type EndAs = 'rejected' | 'voided' | 'withdrawn' | 'cancelled' | 'superseded' | 'tooLate'

export type EmittedEvent =
  | 'foreign'
  | 'displaced'
  | 'unresolved'
  | 'gap'
  | 'gapFilled'
  | 'reorged'
  | 'deepReorg'
  | 'corrected'
  | 'stuck'
  | 'feeCeiling'
  | 'sealed'
  | 'preconfirmed'

/**
 * The result of one event for a slot. `row` is the row of the table that applied. It is 0 if the table has no
 * row for the event (a duplicate, a late or a contradictory observation). In that case there are no actions,
 * and the slot is the very same object unless a fact was recorded in it (a send counted, late bytes kept).
 */
export type Transition = {
  readonly row: number
  readonly slot: Slot
  readonly actions: readonly SlotAction[]
}

const COMMANDS: ReadonlySet<SlotEvent['type']> = new Set(['reserve', 'handOut', 'replace'])

/**
 * An observation without new information is ignored. A command that cannot be carried out is a bug of this
 * library.
 */
export function ignored(slot: Slot, event: SlotEvent): Transition {
  if (COMMANDS.has(event.type))
    throw new Error(`ledger: ${event.type} on a ${slot.state} nonce ${slot.nonce}`)
  return { row: 0, slot, actions: [] }
}

/** A fact that is recorded without a row of its own. */
export function noted(slot: Slot): Transition {
  return { row: 0, slot, actions: [] }
}
