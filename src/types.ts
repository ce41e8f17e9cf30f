import type {
  Abi,
  Account,
  Address,
  Chain,
  Client,
  ContractFunctionArgs,
  ContractFunctionName,
  DeployContractParameters,
  FeeValues,
  Hash,
  Hex,
  LocalAccount,
  SendTransactionRequest,
  Transport,
  WriteContractParameters,
} from 'viem'
import type { Fate, TxlaneError } from './errors/base.js'
import type { FeePolicy, LaneSnapshot, Limits, SenderEvents, SequenceOptions } from './laneTypes.js'
import type { Landed, TxRecord, WaitOptions, WaitReason } from './waitTypes.js'

export type {
  EndpointEvent,
  EnvelopeSigner,
  FeePolicy,
  HoldReason,
  LaneSnapshot,
  Limits,
  SenderEvents,
  SequenceOptions,
} from './laneTypes.js'
export type { Landed, TxRecord, WaitCause, WaitOptions, WaitReason } from './waitTypes.js'

/** Keeps a union a union, unlike TypeScript's own Omit. */
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** Stages that can be waited for, in order. */
export type WaitStage = 'preconfirmed' | 'sealed' | 'safe' | 'finalized'

/** Where a transaction is. `failed`, `cancelled` and `superseded` are ends without execution. */
export type Stage = 'queued' | 'signed' | 'accepted' | WaitStage | 'failed' | 'cancelled' | 'superseded'

/** A logger that takes an object and a message, as pino does. What it has no method for is dropped. */
export type Logger = {
  /** Gets what is of use only to who looks for a fault: readings, requests, rows of the table. */
  debug?(fields: object, message?: string): void
  /** Gets what the lane does for itself: a bump, a no-op, a change of endpoint. */
  info(fields: object, message?: string): void
  /** Gets what may need a person: holds, endpoints of no use, doubtful answers. */
  warn?(fields: object, message?: string): void
  /** Gets what failed: a store, a signer, a listener of the caller. */
  error?(fields: object, message?: string): void
}

/**
 * A node to talk to. Clients are taken apart to their URLs; viem's own retry and fallback are not used.
 */
export type Endpoint = {
  /** A viem client of the chain. Its transport says where the node is; an account in it is not used. */
  client: Client
  /**
   * `read` ones never see a transaction. `send` ones are asked once which chain they are on, and never for anything
   * else: they are tried first, and are the only ones that see a transaction marked `private`. Of those that are
   * read, one is at a time: the healthiest, until it has been bad for a while. @default 'both'
   */
  role?: 'both' | 'read' | 'send' | undefined
  /** Replaces the global `fetch`. Without it, Node's own is gone around: by the undici dispatcher that it sends by. */
  fetchFn?: typeof fetch | undefined
  /** What is known of the endpoint already; the rest is found by probing and watching. */
  profile?: Partial<EndpointProfileInput> | undefined
}

/**
 * The parts of an endpoint profile that can be given. What is given is believed and never probed. The rest is learned:
 * how many transactions an endpoint keeps above a missing nonce and how large a batch it takes may change, and two
 * refusals teach them.
 */
export type EndpointProfileInput = {
  /** What `eth_getTransactionCount` at `pending` counts. */
  pending: 'mempool' | 'preconfirmed' | 'latest' | 'absent'
  /** Code and storage at `pending` show pre-confirmed state. */
  pendingState: boolean
  /** `eth_getBlockReceipts` is to be used. */
  blockReceipts: boolean
  /** `eth_simulateV1` is to be used. */
  simulateV1: boolean
}

/** What goes for a lane, whoever opens it: `createSender`, a pool, `createLanes` or an allocator. */
export type LaneOptions<chain extends Chain> = {
  /** Further endpoints. The client itself is one with role `both`. */
  endpoints?: readonly Endpoint[] | undefined
  /** Where transactions and attempts are kept. @default `memoryStore()`, shared by the process */
  store?: Store | undefined
  /** What the lane may offer for gas, and how it finds that out. */
  fees?: FeePolicy<chain> | undefined
  /**
   * How deep a block must be before it proves an end: `child` (one child block, for chains with a single
   * sequencer), `safe`, or a number of blocks. @default 'child' on OP-stack chains, else 'safe'; 12 blocks where
   * the `safe` tag is missing
   */
  lossDepth?: 'child' | 'safe' | number | undefined
  /**
   * Who gets a transaction's bytes where several endpoints take transactions. `first`: one of them, and the others
   * too once it has to be sent again (no answer, a refusal, or a block went by without it). `all`: every one at once.
   * It costs as many requests as there are endpoints, and a mistake that every node rejects (a bad signature, say) no
   * longer frees its nonce at once: bytes that several nodes have seen are known to be nowhere only when the chain
   * says so, so the lane pays for a no-op. @default 'first'
   */
  broadcast?: 'first' | 'all' | undefined
  /**
   * Gets what the lane does for itself. Without one the console is told (`console.warn`) of what only a person can end: an
   * account without money, a hold that waits for `resume()`, an endpoint that answers nothing of use. Once for each, with
   * what ends it; `false` silences that. @default `console.warn`, for those alone
   */
  logger?: Logger | false | undefined
  /**
   * `settle` waits, before the first reservation of a lane without records, until the account's counts settle:
   * transactions of an earlier life may be invisible. Two readings have to agree, at different sealed blocks or 3 s apart
   * at the same one, since some nodes make no empty blocks; where `pending` is above `latest` and does not move, 15 s; and
   * no other endpoint may show another count. After `limits.coldStartMaxMs` the next reading is enough. Meanwhile the lane has the hold `seeding`.
   * An account that never sent does not wait. A heuristic. @default 'settle'
   */
  coldStart?: 'settle' | 'immediate' | undefined
  /**
   * When the first in line cannot be paid: wait for money, or fail with STARVED what the account cannot pay (all
   * that waits, where what is in flight cannot be paid). @default 'wait'
   */
  starved?: 'wait' | 'fail' | undefined
  /** For every transaction that names none itself: see the option of `send`. @default 'relaxed' */
  order?: 'relaxed' | 'strict' | undefined
  /** Bounds and times; each has a default. */
  limits?: Partial<Limits> | undefined
  /** Calls the node before a nonce is taken, even where gas is given. @default false */
  simulate?: boolean | undefined
  /** Estimated gas is multiplied by it. @default 1 */
  gasMultiplier?: number | undefined
}

/** What `createSender` takes. */
export type SenderParameters<
  chain extends Chain,
  account extends Account | undefined,
> = LaneOptions<chain> & {
  /** A viem client with a chain. Its transport is the first endpoint; its account sends, where it is a local one. */
  client: Client<Transport, chain, account>
} & (account extends LocalAccount
    ? {
        /** The account that signs and sends. @default the client's */
        account?: LocalAccount | undefined
      }
    : {
        /** The account that signs and sends. */
        account: LocalAccount
      })

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
   * The most that a bump of this transaction may offer for a unit of gas, in wei, by `speedUp` too. At it the transaction makes way for a
   * no-op, which may offer two bump steps more. @default two steps below the lane's, or above the fees in the request
   */
  feeCeiling?: bigint | undefined
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
      landed: Landed<chain>
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
  /** Where another process holds the lane: the newest alone. */
  readonly attempts: readonly { nonce: number; hash: Hash; fees: FeeValues }[]
  /**
   * Why it is not further yet; undefined where nothing is waited for: it ended, or a sealed block has it and nobody waits
   * for more. Where another process holds the lane: what that process kept of it, a few seconds ago, or what its stage
   * says.
   */
  readonly waitingFor: WaitReason | undefined
  /**
   * Resolves when the transaction has come to the stage or beyond it. `preconfirmed` resolves at `sealed` where
   * the endpoint has no pre-confirmations.
   * @throws TxlaneError whose `fate` says whether it may be sent again
   */
  wait(stage?: WaitStage, options?: WaitOptions): Promise<Landed<chain>>
  /**
   * Resolves when it is certain: at once where nothing was journaled, else at the lane's `lossDepth`.
   * @throws TxlaneError `CLOSED`; `STORE`, with which `send` rejected too, where it was never taken on
   */
  cancel(): Promise<CancelResult<chain>>
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

/** Sends transactions of one account on one chain. */
export interface Sender<chain extends Chain = Chain> {
  /** The chain of its client. */
  readonly chain: chain
  /** The account that signs and sends. */
  readonly address: Address
  /**
   * Probes the endpoints, takes the lane's lease where it is free, seeds the lane and asks what gas costs, so that the
   * first transaction finds all of it known. Where another process has the lease this one is its guest: what is sent
   * here goes to the holder by way of the store, and whoever is left takes the lane over. `send` waits for it by itself.
   *
   * A call that was lost, has no answer or was refused for the rate is asked again by itself, until
   * `limits.readyTimeoutMs` has passed; a refusal in other words three times. May be called again after a rejection.
   *
   * @throws TxlaneError `REJECTED` (no endpoint answers; the code cannot be loaded), `CHAIN_MISMATCH`, `STORE`
   */
  ready(): Promise<void>
  /**
   * Takes a transaction on. Resolves when an endpoint accepted it, or with `until: 'queued'` when the store has it. By
   * an `id` that is known it is the one that it stands for, whatever has become of that, also where the queue is full.
   *
   * @throws TxlaneError `INVALID`, `UNSUPPORTED`, `ID_CONFLICT`, `QUEUE_FULL` or `CLOSED` where it was not taken on;
   * `STORE` likewise, with `inFlight` where the store may have it all the same, or its id from an earlier life; and what
   * ended it before that stage
   */
  send(request: TxRequest<chain>, options?: SendOptions): Promise<Tx<chain>>
  /**
   * `send` of a call of a contract, with the parameters of viem's `writeContract`. Nothing is simulated beforehand, unless
   * the sender's `simulate` says so.
   *
   * @throws TxlaneError as `send`, and `INVALID` where the arguments do not fit the ABI
   */
  writeContract<
    const abi extends Abi | readonly unknown[],
    functionName extends ContractFunctionName<abi, 'nonpayable' | 'payable'>,
    args extends ContractFunctionArgs<abi, 'nonpayable' | 'payable', functionName>,
  >(
    parameters: WriteContractParameters<abi, functionName, args, chain, LocalAccount>,
    options?: SendOptions,
  ): Promise<Tx<chain>>
  /**
   * `send` of a deployment, with the parameters of viem's `deployContract`. The address stands in the receipt.
   *
   * @throws TxlaneError as `send`, and `INVALID` where the arguments do not fit the ABI
   */
  deployContract<const abi extends Abi | readonly unknown[]>(
    parameters: DeployContractParameters<abi, chain, LocalAccount>,
    options?: SendOptions,
  ): Promise<Tx<chain>>
  /**
   * Sends items as the lane takes them, and gives each one's result when it is known, not in the order of the items: `index`
   * says which it is. At most 8,192 items, and no more than `limits.queueMax`, are read ahead of the results. A failed item
   * ends nothing but itself. Nothing is sent before the first result is asked for. Who stops reading results stops the
   * reading of items; what was read is sent.
   *
   * @throws TxlaneError `INVALID` at once; afterwards, what the iterable itself throws
   */
  sendMany(
    items: Iterable<Item<chain>> | AsyncIterable<Item<chain>>,
    options?: SendManyOptions,
  ): AsyncIterable<ItemResult<chain>>
  /**
   * Sends transactions in one lane in this order, without waiting between them: each takes a nonce as soon as the one
   * before it has one, and is journaled no sooner. Where one ends before the next is journaled, the next and all after
   * it end with DEPENDENCY, fate `notExecuted`. One that reverts stops nothing: who wants that sends with `after`.
   *
   * Gas that is not given comes from `eth_simulateV1`, run on what goes before it in the sequence and checked by running
   * it again; without that method a transaction without gas waits until those before it are on the chain.
   *
   * Resolves with all of them once each was accepted or has ended (`until`), which `wait` on each tells. `after` goes
   * for the first, and so for all. Not guaranteed: the order where a nonce of them is taken by another wallet.
   * @throws TxlaneError where not all of it was taken on; with `inFlight`, the first of them are on their way
   */
  sendSequence(
    requests: readonly TxRequest<chain>[],
    options?: SequenceOptions,
  ): Promise<readonly Tx<chain>[]>
  /** By its id or the hash of any of its attempts, ended or not. Undefined where the store has none of this account. */
  get(id: string | { hash: Hash }): Promise<Tx<chain> | undefined>
  /**
   * A page of the account's transactions in the store, newest first: 100, or `limit`; `cursor` is what the page before gave
   * back, and is missing with the last one. `stage` leaves out the others.
   */
  list(options?: {
    stage?: Stage | undefined
    limit?: number | undefined
    cursor?: string | undefined
  }): Promise<{ items: TxRecord[]; cursor?: string }>
  /** Those that this process knows, that have a nonce and that no block has at `lossDepth` yet. */
  inFlight(): readonly Tx<chain>[]
  /** Hashes seen pre-confirmed by the caller's own feed. */
  observe(seen: { hashes: readonly Hash[]; blockNumber: bigint }): void
  /**
   * Calls the listener with each event of the kind from now on, until the function that it gives back is called. What a
   * listener throws stops nothing and is logged.
   */
  on<event extends keyof SenderEvents<chain>>(
    event: event,
    listener: (payload: SenderEvents<chain>[event]) => void,
  ): () => void
  /** The operator's word on an unresolved transaction. */
  resolve(id: string, fate: Exclude<Fate, 'inFlight'>): Promise<void>
  /**
   * What the lane looks like now. The holder of the lane asks no node; a guest reads counts and the head.
   *
   * @throws TxlaneError as `ready`, which it waits for; `CLOSED`
   */
  snapshot(): Promise<LaneSnapshot>
  /** Reads counts, code and (where asked for) storage again. */
  resync(): Promise<void>
  /**
   * Stops reserving nonces; what is in flight goes on and is repaired. It goes for this process: a lane that another
   * one holds goes on there.
   */
  pause(): void
  /** Ends `pause`, and lifts the holds that wait for an operator: see `HoldReason`. */
  resume(): void
  /**
   * Resolves when nothing is queued, all is sealed and no gap is left. Nonces that were handed to outside code are seen
   * through by the process that holds the lane; others need not wait for them.
   *
   * @throws TxlaneError `CLOSED`, fate `inFlight`, where the lane closes before that; `ABORTED` by the signal
   */
  drain(options?: { signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Finishes what has a nonce, fills gaps within `limits.closeTimeoutMs` and gives the lane back last. What is queued
   * ends with `CLOSED` and `notExecuted`; in a store that outlives the process it stays, for whoever opens the lane
   * next. What the store has not been asked to keep yet is `CLOSED` at once. Who still waits is told `CLOSED`.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Where transactions and attempts are kept. Made by `memoryStore()`; the verbs are for those who write another. */
export type Store = import('./store/store.js').Store
