import type { Hash } from 'viem'
import type { Attempt, BlockRef } from './slot.js'

/**
 * What an endpoint said of a send, as far as the table tells outcomes apart (design section 5). `counted` is a
 * refusal that no retry at this node mends; `refused` is any other refusal.
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

/** What is known of a nonce whose bytes no bump can bring in, as for `stuck`. */
export type Beyond = {
  readonly head: boolean
  readonly fillable: boolean
  readonly signer: boolean
  readonly token: number
}

/** What happens to a slot. The shell turns the world into these and never decides. */
export type SlotEvent =
  | { readonly type: 'reserve'; readonly claim: string; readonly token: number }
  /** `waiting`: a transaction is queued that could take the nonce. `boundAbove`: the hole is a gap. */
  | {
      readonly type: 'gapTimer'
      readonly boundAbove: boolean
      readonly waiting: boolean
      readonly token: number
    }
  /**
   * Bytes signed under this token are about to be handed to the store. Row 0: they are stale, throw them away. Row 4:
   * hand them over, and say `journaled` or `notCommitted` once it is known which. Until then nothing frees the nonce.
   */
  | { readonly type: 'committing'; readonly token: number; readonly claim: string | undefined }
  /** `stored`: the store has the slot as this event makes it. */
  | {
      readonly type: 'journaled'
      readonly token: number
      readonly attempt: Attempt
      readonly stored?: boolean
    }
  | { readonly type: 'commitUnknown'; readonly token: number }
  /** The store was read again and has nothing of it, and never will. */
  | { readonly type: 'notCommitted' }
  | {
      readonly type: 'withdraw'
      readonly claim: string
      /**
       * `failed`: the transaction ends. `again`: it is queued again; ignored for a replacement, whose place is at
       * the nonce of what it replaces.
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
      /** The next bump of what is sent here would pass its ceiling. */
      readonly atCeiling: boolean
      /** The newest attempt pays the base fee: the same bytes can be included. */
      readonly priced: boolean
      /** A no-op that outbids what was sent here stays inside the lane's ceiling and pays the base fee. */
      readonly fillable: boolean
      readonly signer: boolean
      readonly token: number
    }
  /** Applied before the bytes are written, in whatever state: it is what row 14 goes by. */
  | { readonly type: 'sent'; readonly hash: Hash }
  | {
      readonly type: 'outcome'
      readonly hash: Hash
      readonly outcome: OutcomeKind
      readonly epoch: number
      /** Of `underpriced`: the refusal names the fees that the pool takes as a replacement. */
      readonly stated?: boolean | undefined
      /** Of `feeTooLow`: the least fee that the node names is above what a bump may offer. */
      readonly beyond?: Beyond | undefined
    }
  | { readonly type: 'cancel'; readonly token: number }
  | { readonly type: 'replace'; readonly claim: string; readonly token: number }
  /** `named`: the caller named fees, so that what is signed again is sure to be within a ceiling. */
  | { readonly type: 'speedUp'; readonly named: boolean; readonly token: number }
  | { readonly type: 'preconfirmed'; readonly hash: Hash; readonly blockNumber: number }
  | { readonly type: 'notPreconfirmed'; readonly blockNumber: number }
  | {
      readonly type: 'sealed'
      readonly hash: Hash
      readonly block: BlockRef
      /** The block is on the chain that is walked, so that this corrects what was believed of the nonce before. */
      readonly walked?: boolean | undefined
    }
  /**
   * A witness in the body of `block` (rule W): the nonce is used, by nothing of ours. Ignored while a commit is under
   * way at a reserved nonce, so it is looked for again for as long as the count has passed the nonce.
   */
  | {
      readonly type: 'evidence'
      readonly block: BlockRef
      /** The transaction that is the witness, or that carries it; undefined for CREATE in delegated code. */
      readonly hash: Hash | undefined
      /**
       * A transaction of the lane's own in that very block authorizes for the account (EIP-7702), and each of its valid
       * tuples uses a nonce: nothing foreign.
       */
      readonly authorized?: boolean | undefined
    }
  /**
   * The count at a block `lossDepth` deep is above the nonce, and for longer than the patience no endpoint serves the
   * body that must hold the witness. A belief, which `refuted` takes back.
   */
  | { readonly type: 'passed' }
  /** A lower count was confirmed: the count that had passed the nonce was wrong, and so was a word that rested on it. */
  | { readonly type: 'refuted'; readonly token: number }
  /** The body of the block that was said to hold the witness was read once more, and does not hold it. */
  | { readonly type: 'unwitnessed'; readonly block: BlockRef; readonly token: number }
  /** The claim has executed at another nonce, to which it was bound before: it must not execute here as well. */
  | { readonly type: 'executedElsewhere'; readonly claim: string; readonly token: number }
  /** The operator's word, on the claim named and on no other. */
  | { readonly type: 'resolve'; readonly claim: string; readonly fate: 'executed' | 'notExecuted' }
  /** The block left the chain. Told before what took its place. */
  | { readonly type: 'left'; readonly block: BlockRef; readonly token: number }
  /** The block that used the nonce is `lossDepth` deep on the chain that is walked. */
  | { readonly type: 'lossDepth' }
  | { readonly type: 'horizon' }

/** What a transition asks the shell to do, in this order. */
export type SlotAction =
  /** Sign the claim's first attempt at this nonce. May be asked again under the same token, like `noop`. */
  | { readonly do: 'sign'; readonly claim: string; readonly token: number }
  /** Sign a self-transfer of 0 that uses up the nonce, outbidding every attempt of the slot. */
  | { readonly do: 'noop'; readonly token: number }
  /** Sign the newest attempt's content again with higher fees; each underbid makes the step larger. */
  | { readonly do: 'bump'; readonly token: number; readonly underbids: number }
  | { readonly do: 'broadcast'; readonly hash: Hash }
  /** Send the same bytes again when the lane next resends. */
  | { readonly do: 'resend'; readonly hash: Hash }
  | { readonly do: 'backOff'; readonly hash: Hash }
  /** Look for evidence of who used the nonce. */
  | { readonly do: 'look' }
  | { readonly do: 'readAgain' }
  | { readonly do: 'queueAgain'; readonly claim: string }
  | { readonly do: 'end'; readonly claim: string; readonly as: EndAs }
  | { readonly do: 'landed'; readonly claim: string; readonly hash: Hash | undefined }
  /** A claim of this nonce has executed here after all: wherever the one named waits or was bound since, that ends. */
  | { readonly do: 'reclaim'; readonly claim: string }
  | { readonly do: 'hold'; readonly reason: 'deepReorg' }
  | { readonly do: 'tell'; readonly event: Told }
  | { readonly do: 'prune' }

/** How a transaction ends without executing. `rejected` and `voided` are told as `failed`. */
export type EndAs = 'rejected' | 'voided' | 'withdrawn' | 'cancelled' | 'superseded' | 'tooLate'

export type Told =
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
