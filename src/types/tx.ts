import type { Address, Chain, FeeValues, Hash, Hex, LocalAccount, SendTransactionRequest } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import type { FeePreset } from './fees.js'
import type { Stage, WaitStage } from './index.js'
import type { Landed, TxRecord, WaitOptions, WaitReason } from './wait.js'

/** Keeps a union a union, unlike TypeScript's own Omit. */
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/**
 * viem's transaction request without the nonce: the lane owns it. It is copied when it is handed over, with what is
 * nested in it and with the options beside it: an object that is filled anew for the next call changes nothing of this
 * one.
 */
export type TxRequest<chain extends Chain = Chain> = DistributiveOmit<
  SendTransactionRequest<chain>,
  'nonce' | 'authorizationList'
> & {
  /**
   * Delegations (EIP-7702) to sign with this transaction, for this chain alone; the account defaults to the sender's
   * own, and the zero address ends a delegation. One for the sender's own account is signed once the nonce is known,
   * and its transaction goes alone: nothing else is reserved until a sealed block has it. One for another account is
   * signed before `send` takes the transaction on, with the nonce that account has then.
   *
   * Not guaranteed: that the delegation takes place. The chain skips, without a word, a tuple whose account has moved
   * on. And a cancel covers the transaction: the tuple is public, and anyone may submit it while its nonce is free.
   */
  authorize?: readonly { contractAddress: Address; account?: LocalAccount | undefined }[] | undefined
}

/** How one transaction is to be sent. */
export type SendOptions = {
  /** The caller's idempotency key, unique per store and chain. @default a generated one */
  id?: string | undefined
  /**
   * What happens where the id stands for the same request, which ended without execution (stage `failed` or `cancelled`).
   * `false`: the call rejects with ENDED, which says how it ended. `true`: it begins anew under its id, with the options
   * of this call, from any process, once: of several who ask at once, one begins it, and the others follow that one. What
   * is on its way, or has executed, is what it is with either; what was superseded does not begin anew, since its
   * replacement may have done the same. @default false
   */
  again?: boolean | undefined
  /** When `send` resolves: queued (durable, where the store is) or accepted by a node. @default 'accepted' */
  until?: 'queued' | 'accepted' | undefined
  /**
   * Wall time after which it is not wanted any more. Before it is journaled it is removed, else `onExpiry`; where
   * something else takes its nonce after that, it is not sent at another one.
   */
  expires?: { atMs: number } | undefined
  /** For what is journaled already: ask for a cancel, or leave it be. @default 'leave' */
  onExpiry?: 'cancel' | 'leave' | undefined
  /**
   * Aborted, the transaction is not wanted any more. Before it is journaled it is removed, and ends with ABORTED. What is
   * journaled goes on, since it may have been sent: `cancel` ends that.
   */
  signal?: AbortSignal | undefined
  /**
   * Milliseconds until `send`, or `replace`, rejects with WAIT_TIMEOUT. What has been taken on by then goes on, and the error
   * says `inFlight`; what has not is not sent any more, which is `notExecuted` unless it has an `id` of yours. @default no limit
   */
  timeoutMs?: number | undefined
  /** Higher goes first. @default 0 */
  priority?: number | undefined
  /**
   * Transactions of one priority take their nonces in the order of the calls, whatever order their estimates are answered
   * in. `relaxed`: one steps aside, with the event `reordered` where a later one goes before it, while an estimate that
   * failed is asked again, `after` is not met or money is missing. `strict`: it never does, and later ones wait until it
   * has a nonce or has ended. Not guaranteed: the order where another wallet takes a nonce. @default the sender's own
   */
  order?: 'relaxed' | 'strict' | undefined
  /**
   * What becomes of it where it costs more than the account has, and what can be paid goes before it. `wait`: it waits for
   * money. `fail`: it ends with STARVED once everything that was sent before it is in sealed blocks, which may bring
   * money; in a pool, once no other account can pay for it either. Where what is in flight cannot be paid, all that
   * is not to wait ends so. With `order: 'strict'` what comes later waits with it. @default the sender's own
   */
  starved?: 'wait' | 'fail' | undefined
  /**
   * The most that a bump of this transaction may offer for a unit of gas, in wei, by `speedUp` too. At it the transaction makes way for a
   * no-op, which may offer two bump steps more. Fees in the request above it are INVALID. @default two steps below the lane's, or above the fees in the request
   */
  feeCeiling?: bigint | undefined
  /**
   * How soon it is to be included, by what others paid in the last blocks: see `FeePolicy.preset`. Fees in the request go
   * before it. @default the lane's
   */
  feePreset?: FeePreset | undefined
  /**
   * Its bytes go to endpoints with the role `send` and to no other, however often they are sent, by whichever
   * process. `request.gas` has to be given, and it is not simulated: either would show it to a node that is read.
   * What replaces it is private too unless it says `false`; the no-op of a cancel shows nothing of it and goes to all.
   *
   * Not guaranteed: what a `send` endpoint does with it, and that nobody sees the gap that it leaves below later
   * nonces. Its hash and receipt are asked of a reading endpoint once a block has it, not before. @default false
   */
  private?: boolean | undefined
  /**
   * Transactions of the same chain, of any account, as they are or by id, that must have come to `afterStage` before
   * this one takes a nonce. Where one ends without execution, reverts (see `afterStatus`) or is unresolved, this one
   * ends with DEPENDENCY and was never sent. What takes another's place (`replace`) does not take it here. An id that
   * nobody knows is INVALID, which is about this call: another process that knows it may have sent the same id.
   */
  after?: readonly (string | Tx)[] | undefined
  /**
   * Beyond `preconfirmed` nothing undoes it but a reorg; a pre-confirmation may be withdrawn after this one was sent.
   * @default 'preconfirmed', which is 'sealed' where the endpoint has no pre-confirmations
   */
  afterStage?: WaitStage | undefined
  /** `any`: it is enough that they executed. @default 'success' */
  afterStatus?: 'success' | 'any' | undefined
  /**
   * The address that this transaction gives code to: what comes `after` it at the pre-confirmed stage starts as soon
   * as the code is there at `pending`, even where the pending block does not list this transaction. It tells nothing
   * where there was code before this one was sent, or where `pending` shows the node's own pool.
   *
   * Not guaranteed: that the code came from this transaction, where others may put it there as well.
   */
  deploys?: Address | undefined
  /** As `deploys`, with a storage value that this transaction brings about. With both, both have to be there. */
  effect?: { address: Address; slot: Hex; value: Hex } | undefined
  /**
   * In a pool: transactions with the same word here go to the same account, in every process, for as long as it can
   * pay and is not paused. A sender has one account anyway.
   */
  affinity?: string | undefined
  /**
   * Whose it is: a tenant, a caller. 1 to 128 printable characters. Its record shows it, and `list` finds by it; what
   * replaces a transaction is of its group, unless it names another. Transactions of one priority take their nonces by
   * turns of their groups, in the order of the calls within a group, so that many of one group do not hold up one of
   * another; `groups` of the lane gives weights and bounds, `fees.groups` ceilings. What names none is a group too. All that name one have at
   * most the gas of one block in flight together (in a pool: in all lanes that the process holds), since what a node's
   * pool has goes before what comes later. @default none
   *
   * Not guaranteed: a share among processes that hold different lanes of one pool, nor of what other senders of the chain
   * fill blocks with.
   */
  group?: string | undefined
}

/** How long `cancel` is to wait for its end. */
export type CancelOptions = {
  /** Milliseconds until it rejects with WAIT_TIMEOUT. The cancel goes on. @default no limit */
  timeoutMs?: number | undefined
  /** Ends the wait with ABORTED, and not the cancel. */
  signal?: AbortSignal | undefined
}

/** How a cancel ended. */
export type CancelResult<chain extends Chain = Chain> =
  | {
      /** `removed`: nothing of it was ever sent. `cancelled`: something else used its nonce, at the lane's `lossDepth`. */
      result: 'removed' | 'cancelled'
    }
  | {
      /** It executed. */
      result: 'tooLate'
      /** As `wait('sealed')` gives it. */
      landed: Landed<chain, 'sealed'>
    }

/** What the caller wants to happen once. Its fields are live: they show what is known now. */
export interface Tx<chain extends Chain = Chain> {
  /** The caller's idempotency key, or a generated one: unique per store and chain. */
  readonly id: string
  /** How far it has come. A reorg may take it back to `accepted`. */
  readonly stage: Stage
  /** Undefined before it has one. It changes where something else used the nonce and the transaction goes to another. */
  readonly nonce: number | undefined
  /** The newest attempt's hash, or that of the one that landed. */
  readonly hash: Hash | undefined
  /**
   * What was signed of it, the oldest first, the newest 16 of many; `signedAtMs` in milliseconds since the epoch. Where
   * another process holds the lane, those that the store was told of.
   */
  readonly attempts: readonly {
    nonce: number
    hash: Hash
    fees: FeeValues
    signedAtMs?: number | undefined
  }[]
  /**
   * Why it is not further yet; undefined where nothing is waited for: it ended, or a sealed block has it and nobody waits
   * for more. Where another process holds the lane: what that process kept of it, a few seconds ago, or what its stage
   * says.
   */
  readonly waitingFor: WaitReason | undefined
  /**
   * Resolves when the transaction has come to the stage or beyond it: with its receipt from `sealed` on. `preconfirmed` resolves at `sealed` where
   * the endpoint has no pre-confirmations.
   * @throws TxlaneError whose `fate` says whether it may be sent again
   */
  wait<stage extends WaitStage = 'sealed'>(
    stage?: stage,
    options?: WaitOptions,
  ): Promise<Landed<chain, stage>>
  /**
   * Resolves when it is certain: at once where nothing was journaled, else at the lane's `lossDepth`.
   * @throws TxlaneError `CLOSED`; `STORE`, with which `send` rejected too, where it was never taken on; `WAIT_TIMEOUT` and
   * `ABORTED` of the options: what was asked for goes on, and another `cancel()` tells how it ends
   */
  cancel(options?: CancelOptions): Promise<CancelResult<chain>>
  /** Sends another transaction under the same nonce; at most one of the two executes. */
  replace(request: TxRequest<chain>, options?: SendOptions): Promise<Tx<chain>>
  /**
   * Bumps the fees now: to those given (one left out: to as little as a pool takes), else to the market's, and by the
   * lane's rule at least. Those given may stand above the lane's ceiling, as those of a request may. Resolves when it is
   * asked for, and does nothing before anything was sent. Not guaranteed without fees: at the ceiling `feeCeiling` tells
   * that nothing is sent; and with fees where another process holds the lane, which uses its rule if it cannot take them.
   * @throws TxlaneError `INVALID` for fees below what a pool takes as a replacement, above the transaction's own
   * `feeCeiling`, or of another kind than its (`gasPrice` or not)
   */
  speedUp(fees?: Partial<FeeValues>): Promise<void>
  /** What is known now, as plain JSON: without bytes and keys. */
  toJSON(): TxRecord
}

/** One transaction of `sendMany`, with its options. */
export type Item<chain extends Chain = Chain> = {
  /** What is to be sent. */
  request: TxRequest<chain>
} & SendOptions

/** What became of one item of `sendMany`. */
export type ItemResult<chain extends Chain = Chain> = {
  /** The item's place among all items, from 0. */
  index: number
  /** The item's own `id`, or a generated one. */
  id: string
} & (
  | {
      /** It came to the stage that was asked for. */
      ok: true
      /** The transaction, as `send` gives it. */
      tx: Tx<chain>
      /** What `wait` gives at that stage; missing with `until: 'accepted'`. */
      landed?: Landed<chain>
    }
  | {
      /** It was refused, or ended before that stage. */
      ok: false
      /** Its `fate` says whether the item may be sent again. */
      error: TxlaneError
    }
)

/** How far `sendMany` has come: counts of items. */
export type Progress = {
  /** Read from the iterable so far. */
  taken: number
  /** Accepted by an endpoint. */
  accepted: number
  /** Come to that stage, with `until: 'preconfirmed'`; else 0. */
  preconfirmed: number
  /** Come to the stage that `until` names, where that is `sealed` or above; else 0. */
  sealed: number
  /** Refused, or ended without execution. */
  failed: number
}

/** How `sendMany` is to send. */
export type SendManyOptions = {
  /** The stage at which an item's result is given. @default 'accepted' */
  until?: 'accepted' | WaitStage | undefined
  /** No item more is read. Those that were read end as with the `signal` of `send`. */
  signal?: AbortSignal | undefined
  /** Called after each change of a count, with all of them. */
  onProgress?: ((progress: Progress) => void) | undefined
}
