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

/** What happens to a slot. The shell turns the world into these and never decides. */
export type SlotEvent =
  | { readonly type: 'reserve'; readonly claim: string; readonly token: number }
  /** `waiting`: a transaction is queued that could take the nonce. `boundAbove`: the hole is a gap. */
  | { readonly type: 'gapTimer'; readonly boundAbove: boolean; readonly waiting: boolean; readonly token: number }
  | { readonly type: 'journaled'; readonly token: number; readonly attempt: Attempt }
  | { readonly type: 'commitUnknown'; readonly token: number }
  | {
      readonly type: 'withdraw'
      readonly claim: string
      /** `failed`: the transaction ends. `again`: it is queued again. */
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
  | { readonly type: 'sent'; readonly hash: Hash }
  | { readonly type: 'outcome'; readonly hash: Hash; readonly outcome: OutcomeKind; readonly epoch: number }
  | { readonly type: 'cancel'; readonly token: number }
  | { readonly type: 'replace'; readonly claim: string; readonly token: number }
  | { readonly type: 'speedUp' }
  | { readonly type: 'preconfirmed'; readonly hash: Hash; readonly blockNumber: number }
  | { readonly type: 'notPreconfirmed'; readonly blockNumber: number }
  | { readonly type: 'sealed'; readonly hash: Hash; readonly block: BlockRef }
  /** The pair of blocks of P4 says: used in `block`, by nothing of ours. */
  | { readonly type: 'evidence'; readonly block: BlockRef; readonly hash: Hash | undefined }
  | { readonly type: 'passed' }
  | { readonly type: 'resolve'; readonly claim: string; readonly fate: 'executed' | 'notExecuted' }
  | { readonly type: 'left'; readonly block: BlockRef; readonly token: number }
  | { readonly type: 'lossDepth' }
  | { readonly type: 'horizon' }

/** What a transition asks the shell to do, in this order. */
export type SlotAction =
  /** Sign the claim's first attempt at this nonce. */
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
  | 'stuck'
  | 'feeCeiling'
  | 'sealed'
  | 'preconfirmed'
