import type { Address, Chain, FeeValues, Hash, Hex, LocalAccount, SendTransactionRequest } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import type { FeePreset } from './fees.js'
import type { Stage, WaitStage } from './index.js'
import type { Landed, TxRecord, WaitOptions, WaitReason } from './wait.js'

/** As TypeScript's own `Omit`, but keeps a union a union. */
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/**
 * viem's transaction request without the nonce, because the lane assigns the nonce. The request, its nested
 * objects and the options are copied when `send` is called, so the caller may reuse an object for the next
 * call.
 */
export type TxRequest<chain extends Chain = Chain> = DistributiveOmit<
  SendTransactionRequest<chain>,
  'nonce' | 'authorizationList'
> & {
  /**
   * Delegations (EIP-7702) to sign with this transaction, for this chain only. The account defaults to the
   * sender's own, and the zero address ends a delegation. A delegation for the sender's own account is signed
   * once the nonce is known, and its transaction is sent alone: no other nonce is reserved until a sealed
   * block contains it. A delegation for another account is signed before `send` accepts the transaction, with
   * the nonce that the account has at that time.
   *
   * Not guaranteed: that the delegation takes effect. The chain silently skips a tuple if the nonce of its
   * account has moved on. A cancel does not cancel the tuple: the tuple is public, and any party may submit
   * it while its nonce is free.
   */
  authorize?: readonly { contractAddress: Address; account?: LocalAccount | undefined }[] | undefined
}

/** The options of one transaction. */
export type SendOptions = {
  /** The caller's idempotency key, unique per store and chain. @default a generated id */
  id?: string | undefined
  /**
   * Applies if the id belongs to the same request, which ended without execution (stage `failed`
   * or `cancelled`). `false`: the call rejects with ENDED, which says how it ended. `true`: the transaction
   * restarts under its id, with the options of this call, from any process, and only once: of several
   * concurrent calls one restarts it, and the others follow that one. A transaction in flight, or one that
   * has executed, is returned unchanged with either value. A superseded transaction does not restart, because
   * its replacement may have had the same effect. @default false
   */
  again?: boolean | undefined
  /**
   * The stage at which `send` resolves: queued (durable if the store is) or accepted by a node.
   * @default 'accepted'
   */
  until?: 'queued' | 'accepted' | undefined
  /**
   * Wall time, in milliseconds since the epoch, after which the transaction is no longer wanted. Before it is
   * journaled it is removed; after that `onExpiry` applies. If another transaction takes its nonce after that
   * time, it is not sent at another nonce.
   */
  expires?: { atMs: number } | undefined
  /**
   * For a transaction that is already journaled when it expires: request a cancel, or leave it.
   * @default 'leave'
   */
  onExpiry?: 'cancel' | 'leave' | undefined
  /**
   * When the signal aborts, the transaction is no longer wanted. Before it is journaled it is removed, and
   * ends with ABORTED. A journaled transaction continues, because it may have been sent; use `cancel` to end
   * it.
   */
  signal?: AbortSignal | undefined
  /**
   * Milliseconds after which `send` or `replace` rejects with WAIT_TIMEOUT. A transaction that was accepted
   * into the queue by then continues, and the error has the fate `inFlight`. Otherwise it is not sent, and
   * the fate is `notExecuted` unless the caller gave an `id`. @default no limit
   */
  timeoutMs?: number | undefined
  /** Transactions with a higher priority go first. @default 0 */
  priority?: number | undefined
  /**
   * Transactions of one priority take their nonces in the order of the calls, in whatever order their
   * estimates are answered. `relaxed`: a transaction steps aside while a failed estimate is retried, its
   * `after` condition is not met or the balance is too low; the event `reordered` is emitted if a later one
   * goes ahead. `strict`: it never steps aside, and later ones wait until it has a nonce or has ended. Not
   * guaranteed: the order if another wallet takes a nonce. @default the sender's option
   */
  order?: 'relaxed' | 'strict' | undefined
  /**
   * Applies if the transaction costs more than the balance; affordable ones go ahead of it.
   * `wait`: it waits for funds. `fail`: it ends with STARVED once all transactions sent before it are in
   * sealed blocks, because these may bring funds; in a pool, once no other account can pay for it either. If
   * the in-flight transactions themselves cannot be paid, all transactions with `fail` end with STARVED. With
   * `order: 'strict'` later transactions wait with it. @default the sender's option
   */
  starved?: 'wait' | 'fail' | undefined
  /**
   * The maximum price per gas that a bump of this transaction may offer, in wei, also by `speedUp`. At this
   * ceiling a no-op replaces the transaction; the no-op may offer two bump steps more. Higher fees in the
   * request are INVALID. @default two steps below the lane's ceiling, or above the fees in the request
   */
  feeCeiling?: bigint | undefined
  /**
   * How soon the transaction is to be included, measured by recent tips: see `FeePolicy.preset`. Fees in the
   * request take precedence. @default the lane's preset
   */
  feePreset?: FeePreset | undefined
  /**
   * The bytes go only to endpoints with the role `send`, on every resend and from every process.
   * `request.gas` must be given, and the request is not simulated, because an estimate or a simulation would
   * reveal it to a reading endpoint. A replacement is private too unless it sets `false`. The no-op of a
   * cancel reveals nothing about the request and goes to all endpoints.
   *
   * Not guaranteed: how a `send` endpoint treats the transaction, and that observers do not see the gap below
   * later nonces. Reading endpoints are asked for its hash and receipt only after a block contains it.
   * @default false
   */
  private?: boolean | undefined
  /**
   * Transactions of the same chain, of any account, given as `Tx` or by id. They must reach `afterStage`
   * before this one takes a nonce. If one of them ends without execution, reverts (see `afterStatus`) or is
   * unresolved, this transaction ends with DEPENDENCY and was never sent. A replacement (`replace`) does not
   * stand in for the replaced transaction here. An unknown id is INVALID for this call only: another process
   * that knows that id may have sent the same `id` of this transaction.
   */
  after?: readonly (string | Tx)[] | undefined
  /**
   * The stage that the `after` transactions must reach. Above `preconfirmed` only a reorg can undo it; a
   * pre-confirmation may be withdrawn after this transaction was sent. @default 'preconfirmed', which means
   * 'sealed' if the endpoint has no pre-confirmations
   */
  afterStage?: WaitStage | undefined
  /** `any`: execution of the `after` transactions is enough, even if they revert. @default 'success' */
  afterStatus?: 'success' | 'any' | undefined
  /**
   * The address to which this transaction deploys code. A transaction that comes `after` it at the
   * pre-confirmed stage starts as soon as the code exists at `pending`, even if the pending block does not
   * list this transaction. The option has no effect if code existed before this transaction was sent, or if
   * `pending` shows the node's own pool.
   *
   * Not guaranteed: that this transaction deployed the code, if others can deploy it there too.
   */
  deploys?: Address | undefined
  /**
   * As `deploys`, but for a storage value that this transaction sets. If both options are given, both must be
   * present. `getter` is the calldata of a view function of the contract that returns the 32 bytes of the slot. It
   * is called where the endpoint does not show storage at `pending` (`pendingState` in its profile); Base's
   * flashblocks RPC shows pre-confirmed storage in no other way. @default no getter: an override of code reads the
   * slot
   */
  effect?: { address: Address; slot: Hex; value: Hex; getter?: Hex | undefined } | undefined
  /**
   * For pools: transactions with the same value go to the same account, in every process, as long as that
   * account can pay and is not paused. A sender has only one account, so the option has no effect there.
   */
  affinity?: string | undefined
  /**
   * The owner of the transaction, for example a tenant or a caller: 1 to 128 printable characters. The record
   * shows it, and `list` filters by it. A replacement belongs to the group of the replaced transaction,
   * unless it names another. Among transactions of one priority the groups take turns at the nonces, in the
   * order of the calls within a group, so that a group with many transactions does not delay the others. The
   * lane's option `groups` sets weights and limits, `fees.groups` sets ceilings. Transactions without a group
   * form a group too. All transactions with a group together have at most the gas of one block in flight (in
   * a pool, over all lanes that the process owns), because a transaction in the node's pool precedes every
   * later one. @default none
   *
   * Not guaranteed: the shares between processes that own different lanes of one pool, and the share of the
   * blocks that other senders of the chain fill.
   */
  group?: string | undefined
}

/** How long `cancel` waits for the end of the transaction. */
export type CancelOptions = {
  /**
   * Milliseconds after which `cancel` rejects with WAIT_TIMEOUT. The cancel itself continues. @default no
   * limit
   */
  timeoutMs?: number | undefined
  /** Ends the wait with ABORTED. The cancel itself continues. */
  signal?: AbortSignal | undefined
}

/** The result of a cancel. */
export type CancelResult<chain extends Chain = Chain> =
  | {
      /**
       * `removed`: the transaction was never sent. `cancelled`: another transaction used its nonce, at the
       * lane's `lossDepth`.
       */
      result: 'removed' | 'cancelled'
    }
  | {
      /** The transaction executed before the cancel took effect. */
      result: 'tooLate'
      /** The result that `wait('sealed')` gives. */
      landed: Landed<chain, 'sealed'>
    }

/** A transaction that the caller wants to happen once. The fields are live: they show the current state. */
export interface Tx<chain extends Chain = Chain> {
  /** The caller's idempotency key, or a generated one. Unique per store and chain. */
  readonly id: string
  /** The stage that the transaction has reached. A reorg may move it back to `accepted`. */
  readonly stage: Stage
  /**
   * The nonce; undefined until one is assigned. It changes if another transaction uses the nonce and this one
   * moves to another.
   */
  readonly nonce: number | undefined
  /** The hash of the newest attempt, or of the attempt that landed. */
  readonly hash: Hash | undefined
  /**
   * The signed attempts, oldest first; only the newest 16 are kept. `signedAtMs` is in milliseconds since the
   * epoch. If another process owns the lease, these are the attempts in the store.
   */
  readonly attempts: readonly {
    nonce: number
    hash: Hash
    fees: FeeValues
    signedAtMs?: number | undefined
  }[]
  /**
   * The reason why the transaction does not progress. Undefined if it ended, or if a sealed block contains it
   * and no caller waits for a later stage. If another process owns the lease, it is the reason that this
   * process stored, a few seconds old, or one derived from the stage.
   */
  readonly waitingFor: WaitReason | undefined
  /**
   * Resolves when the transaction has reached the stage or a later one, with its receipt from `sealed` on.
   * `preconfirmed` resolves at `sealed` if the endpoint has no pre-confirmations.
   *
   * @throws TxlaneError whose `fate` says whether the transaction may be sent again
   */
  wait<stage extends WaitStage = 'sealed'>(
    stage?: stage,
    options?: WaitOptions,
  ): Promise<Landed<chain, stage>>
  /**
   * Resolves when the result is certain: at once if the transaction was not journaled, else at the lane's
   * `lossDepth`.
   *
   * @throws TxlaneError `CLOSED`; `STORE`, if the transaction was never accepted and `send` rejected with it
   *   too; `WAIT_TIMEOUT` and `ABORTED` from the options: the cancel continues, and another `cancel()`
   *   returns its result
   */
  cancel(options?: CancelOptions): Promise<CancelResult<chain>>
  /** Sends another transaction at the same nonce. At most one of the two executes. */
  replace(request: TxRequest<chain>, options?: SendOptions): Promise<Tx<chain>>
  /**
   * Bumps the fees now: to the given fees (a fee that is left out rises by the minimum that a node pool
   * accepts), else to the market's fees, but at least by the lane's bump rule. Given fees may exceed the
   * lane's ceiling, as those of a request may. Resolves when the bump is requested; has no effect before the
   * transaction was sent. Not guaranteed without fees: at the ceiling nothing is sent, and the event
   * `feeCeiling` reports it. Not guaranteed with fees if another process owns the lease: it uses its own rule
   * if it cannot apply them.
   *
   * @throws TxlaneError `INVALID` for fees below the minimum that a node pool accepts as a replacement, above
   *   the transaction's own `feeCeiling`, or of another kind than the transaction's (`gasPrice` or not)
   */
  speedUp(fees?: Partial<FeeValues>): Promise<void>
  /** The current state as plain JSON, without raw bytes and keys. */
  toJSON(): TxRecord
}

/** One transaction of `sendMany`, with its options. */
export type Item<chain extends Chain = Chain> = {
  /** The request to send. */
  request: TxRequest<chain>
} & SendOptions

/** The result of one item of `sendMany`. */
export type ItemResult<chain extends Chain = Chain> = {
  /** The position of the item among all items, from 0. */
  index: number
  /** The item's own `id`, or a generated one. */
  id: string
} & (
  | {
      /** The transaction reached the requested stage. */
      ok: true
      /** The transaction, as `send` returns it. */
      tx: Tx<chain>
      /** The result of `wait` at that stage; missing with `until: 'accepted'`. */
      landed?: Landed<chain>
    }
  | {
      /** The item was refused, or its transaction ended before that stage. */
      ok: false
      /** `error.fate` says whether the item may be sent again. */
      error: TxlaneError
    }
)

/** The progress of `sendMany`, as counts of items. */
export type Progress = {
  /** Items read from the iterable so far. */
  taken: number
  /** Items accepted by an endpoint. */
  accepted: number
  /** Items that reached `preconfirmed`, with `until: 'preconfirmed'`; else 0. */
  preconfirmed: number
  /** Items that reached the stage in `until`, if that is `sealed` or later; else 0. */
  sealed: number
  /** Items that were refused or ended without execution. */
  failed: number
}

/** The options of `sendMany`. */
export type SendManyOptions = {
  /** The stage at which the result of an item is given. @default 'accepted' */
  until?: 'accepted' | WaitStage | undefined
  /**
   * When the signal aborts, no further item is read. Items that were read end as with the `signal` of `send`.
   */
  signal?: AbortSignal | undefined
  /** Called with all counts after each change of a count. */
  onProgress?: ((progress: Progress) => void) | undefined
}
