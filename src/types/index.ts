import type {
  Abi,
  Account,
  Address,
  Chain,
  Client,
  ContractFunctionArgs,
  ContractFunctionName,
  DeployContractParameters,
  Hash,
  LocalAccount,
  Transport,
  WriteContractParameters,
} from 'viem'
import type { Fate } from '../errors/base.js'
import type { Endpoint } from './endpoint.js'
import type { SenderEvents } from './events.js'
import type { FeeChange, FeePolicy } from './fees.js'
import type { Health } from './health.js'
import type { GroupPolicy, LaneSnapshot, Limits, SequenceOptions } from './lane.js'
import type { Item, ItemResult, SendManyOptions, SendOptions, Tx, TxRequest } from './tx.js'
import type { ListOptions, RecordPage } from './wait.js'

export type { Endpoint, EndpointProfileInput } from './endpoint.js'
export type { EndpointEvent, OfLane, SenderEvents } from './events.js'
export type { FeeBudget, FeeChange, FeePolicy, FeePreset } from './fees.js'
export type { Health, HealthCause, HealthReason } from './health.js'
export type {
  EnvelopeSigner,
  GroupPolicy,
  GroupShare,
  HoldReason,
  LaneSnapshot,
  Limits,
  SequenceOptions,
} from './lane.js'
export type {
  CancelOptions,
  CancelResult,
  Item,
  ItemResult,
  Progress,
  SendManyOptions,
  SendOptions,
  Tx,
  TxRequest,
} from './tx.js'
export type {
  Landed,
  ListOptions,
  RecordedFees,
  RecordPage,
  TxRecord,
  WaitCause,
  WaitOptions,
  WaitReason,
} from './wait.js'

/** Stages that `wait` accepts, in order. */
export type WaitStage = 'preconfirmed' | 'sealed' | 'safe' | 'finalized'

/** The progress of a transaction. `failed`, `cancelled` and `superseded` are ends without execution. */
export type Stage = 'queued' | 'signed' | 'accepted' | WaitStage | 'failed' | 'cancelled' | 'superseded'

/** A logger that takes an object and a message, as pino does. Messages for a missing method are dropped. */
export type Logger = {
  /** Details for debugging: readings, requests, rows of the transition table. */
  debug?(fields: object, message?: string): void
  /** Actions that the lane takes by itself: a bump, a no-op, a change of endpoint. */
  info(fields: object, message?: string): void
  /** Events that may need an operator: holds, unusable endpoints, doubtful answers. */
  warn?(fields: object, message?: string): void
  /** Failures of a store, a signer or a listener of the caller. */
  error?(fields: object, message?: string): void
}

/** Options of a lane, for `createSender`, pools, `createLanes` and allocators alike. */
export type LaneOptions<chain extends Chain> = {
  /** Further endpoints. The client itself is an endpoint with the role `both`. @default none */
  endpoints?: readonly Endpoint[] | undefined
  /** The store that keeps transactions and attempts. @default `memoryStore()`, shared by the process */
  store?: Store | undefined
  /** The fees that the lane may offer, and how it estimates them. */
  fees?: FeePolicy<chain> | undefined
  /**
   * The depth at which a block proves the end of a transaction: `child` (one child block, for chains with a
   * single sequencer, and at least 2 s since this process first saw the block), `safe`, or a number of
   * blocks. @default 'child' on OP-stack chains, else 'safe'; 12 blocks, or 24 s of faster blocks, if the
   * endpoint has no `safe` tag
   */
  lossDepth?: 'child' | 'safe' | number | undefined
  /**
   * When a block is final on a chain whose endpoint has no `finalized` tag: `depth` blocks below the newest one, or
   * once the newest block is `afterMs` milliseconds later by the timestamps of the blocks. It is the caller's
   * knowledge of the chain, and the lane does not check it. If the endpoint has the tag, the tag alone counts.
   * Without the tag and this option, `wait('safe')` and `wait('finalized')` reject with `UNSUPPORTED`, and the lane
   * forgets a transaction one hour after its block. @default none
   */
  finality?: { depth: number } | { afterMs: number } | undefined
  /**
   * The endpoints that receive a transaction if several take transactions. `first`: one of them; the others
   * receive it too once it has to be resent (no answer, a refusal, or a block without it). `all`: every
   * endpoint at once. This costs one request per endpoint. It also means that a transaction that every node
   * rejects (a bad signature, for example) no longer frees its nonce at once: after several nodes have seen
   * the bytes, only the chain can show that none of them keeps them, so the lane pays for a no-op.
   * @default 'first'
   */
  broadcast?: 'first' | 'all' | undefined
  /**
   * Receives reports of the actions that the lane takes by itself. Without a logger, `console.warn` reports
   * the problems that only an operator can end: an account without funds, a hold that waits for `resume()`,
   * an endpoint with unusable answers. Each is reported once, with its remedy; `false` silences that.
   * @default `console.warn`, for these problems only
   */
  logger?: Logger | false | undefined
  /**
   * `settle`: before the first reservation of a lane without records, wait until the account's counts settle,
   * because transactions of an earlier run may not be visible yet. Two readings have to agree, 2 s apart at
   * different sealed blocks, or 3 s apart at the same block, since some nodes make no empty blocks. If `pending` stays
   * above `latest` without moving, they must be 15 s apart. No other endpoint may show another count. After
   * `limits.coldStartMaxMs` the next reading is enough. The lane has the hold `seeding` during this time. An
   * account that never sent a transaction does not wait. This is a heuristic. @default 'settle'
   */
  coldStart?: 'settle' | 'immediate' | undefined
  /** Default of the option `starved` of `send`. @default 'wait', and 'fail' in a pool */
  starved?: 'wait' | 'fail' | undefined
  /** Default of the option `order` of `send`. @default 'relaxed' */
  order?: 'relaxed' | 'strict' | undefined
  /**
   * How groups share the lane, or the lanes of a pool: see the option `group` of `send`. @default equal
   * shares
   */
  groups?: GroupPolicy | undefined
  /** Limits and times. Each has a default. */
  limits?: Partial<Limits> | undefined
  /**
   * If true, each request is simulated on the node (`eth_call`) before a nonce is taken, even if its gas is
   * given. @default false
   */
  simulate?: boolean | undefined
  /** Factor for estimated gas. @default 1 */
  gasMultiplier?: number | undefined
}

/** The parameters of `createSender`. */
export type SenderParameters<
  chain extends Chain,
  account extends Account | undefined,
> = LaneOptions<chain> & {
  /**
   * A viem client with a chain. Its transport is the first endpoint. Its account is the sender if it is a
   * local account.
   */
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

/** Sends transactions of one account on one chain. */
export interface Sender<chain extends Chain = Chain> {
  /** The chain of the sender's client. */
  // A mapped type, so that TypeScript 5 compares senders member by member. By the variance that it computes
  // otherwise, a sender with a known chain would not be assignable to a sender of any chain.
  readonly chain: { readonly [name in keyof chain]: chain[name] }
  /** The account that signs and sends. */
  readonly address: Address
  /**
   * Probes the endpoints, takes the lane's lease if it is free, seeds the lane and reads the gas price, so
   * that the first transaction need not wait for these. If another process owns the lease, this process
   * becomes a standby: its transactions reach the lease owner through the store, and a remaining process
   * takes over the lane if the owner disappears. `send` calls `ready` by itself.
   *
   * `ready` of a pool also finds problems that would otherwise be noticed too late: accounts of the pool that
   * cannot pay for a transfer, and unfinished work of other accounts of the same chain and store that no
   * process serves. Both are reported to the `logger`, or to the console without one, and are listed in the
   * reasons of `health()` until the next call.
   *
   * A call that was lost, has no answer or was refused for its rate is retried until `limits.readyTimeoutMs`
   * has passed; any other refusal is retried three times. `ready` may be called again after a rejection.
   *
   * @throws TxlaneError `UNREACHABLE` (no endpoint answers), `REJECTED` (a reading was refused; the code
   *   cannot be loaded), `CHAIN_MISMATCH`, `STORE`
   */
  ready(): Promise<void>
  /**
   * Accepts a transaction. Resolves when an endpoint has accepted it, or with `until: 'queued'` when the
   * store has it. A known `id` returns the transaction that it belongs to, whatever its stage is, even if the
   * queue is full.
   *
   * @throws TxlaneError `INVALID`, `UNSUPPORTED`, `ID_CONFLICT`, `QUEUE_FULL` or `CLOSED` if the transaction
   *   was not accepted; `STORE` likewise, with the fate `inFlight` if the store may have it nevertheless, or
   *   may have its id from an earlier run; and the error that ended the transaction before the awaited stage
   */
  send(request: TxRequest<chain>, options?: SendOptions): Promise<Tx<chain>>
  /**
   * As `send`, for a contract call, with the parameters of viem's `writeContract`. The call is not simulated
   * beforehand unless the sender's option `simulate` is set.
   *
   * @throws TxlaneError as `send`, and `INVALID` if the arguments do not fit the ABI
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
   * As `send`, for a deployment, with the parameters of viem's `deployContract`. The receipt contains the
   * address.
   *
   * @throws TxlaneError as `send`, and `INVALID` if the arguments do not fit the ABI
   */
  deployContract<const abi extends Abi | readonly unknown[]>(
    parameters: DeployContractParameters<abi, chain, LocalAccount>,
    options?: SendOptions,
  ): Promise<Tx<chain>>
  /**
   * Sends items at the pace of the lane, and yields each result when it is known, not in the order of the
   * items; `index` is the item's position. At most 8,192 items, and at most `limits.queueMax`, are read ahead
   * of the results. A failed item does not stop the others. The first item is sent when the first result is
   * requested. If the caller stops reading results, no further items are read; the items already read are
   * sent.
   *
   * @throws TxlaneError `INVALID` at once; later, the errors of the iterable itself
   */
  sendMany(
    items: Iterable<Item<chain>> | AsyncIterable<Item<chain>>,
    options?: SendManyOptions,
  ): AsyncIterable<ItemResult<chain>>
  /**
   * Sends transactions in one lane in the given order, without waiting between them. Each takes a nonce as
   * soon as its predecessor has one, and is journaled no sooner than its predecessor. If one ends before the
   * next is journaled, the next and all after it end with DEPENDENCY, fate `notExecuted`. A revert does not
   * stop the sequence; for that, use `send` with `after`.
   *
   * Missing gas limits come from `eth_simulateV1`, run on top of the preceding transactions of the sequence
   * and checked by a second run. Without that method, a transaction without gas waits until its predecessors
   * are on the chain.
   *
   * Resolves with all transactions once each was accepted or has ended (`until`); `wait` on each reports its
   * result. `after` applies to the first, and so to all. Not guaranteed: the order if another wallet takes
   * one of their nonces.
   *
   * @throws TxlaneError if a part of the sequence was not accepted; with the fate `inFlight`, its first
   *   transactions are on their way
   */
  sendSequence(
    requests: readonly TxRequest<chain>[],
    options?: SequenceOptions,
  ): Promise<readonly Tx<chain>[]>
  /**
   * Finds a transaction by its id or by the hash of any of its attempts, ended or not, of any account of this
   * chain and store; ids are shared by all accounts. A transaction of another account is followed through the
   * store. A cancel of it is written to the store for its lease owner; `replace` is only for its own sender.
   * Resolves with undefined if the store has no such transaction.
   *
   * If the lane is not open within a second, or no endpoint answers, the result is the record in the store:
   * its fields do not change, `wait` continues once the lane opens, and `cancel`, `replace` and `speedUp`
   * reject with the reason why it does not. It becomes live once the lane is open.
   *
   * @throws TxlaneError `UNREACHABLE` if no endpoint answers and the store holds several chains with this
   *   chain id; `STORE`
   */
  get(id: string | { hash: Hash }): Promise<Tx<chain> | undefined>
  /**
   * A page of the account's transactions in the store, newest first by `createdAt`. Each transaction that
   * exists when the first page is requested appears exactly once over all pages, whatever is sent meanwhile.
   * If `stage` is given and transactions change their stage meanwhile, a page contains those that have the
   * stage when the page is read. Ended transactions stay as long as the store keeps them. If no endpoint
   * answers, the records are those of the store, as in `get`.
   *
   * @throws TxlaneError as `get`; `INVALID` at once, also for a cursor that no page returned; `STORE`
   */
  list(options?: ListOptions): Promise<RecordPage>
  /**
   * The transactions known to this process at nonces that no sealed block has used, as `snapshot().inFlight`
   * counts them. A nonce has two of them while one is to replace the other, and none if it belongs to a no-op
   * or to outside code.
   */
  inFlight(): readonly Tx<chain>[]
  /**
   * Whether the sender can accept work now, and its problems. It reads memory only: it calls no node and no
   * store and opens no lane, so that a probe may call it every second. `ready()` opens the lane; until then
   * `ready` is false.
   *
   * Not guaranteed: that an endpoint would answer that is not used because the lane is idle. Its last known
   * state is reported.
   */
  health(): Health
  /** Reports hashes that the caller's own feed saw pre-confirmed, with the number of their block. */
  observe(seen: { hashes: readonly Hash[]; blockNumber: bigint }): void
  /**
   * Calls the listener on each event of the kind from now on. The returned function removes the listener. An
   * error thrown by a listener is logged and has no other effect.
   */
  on<event extends keyof SenderEvents<chain>>(
    event: event,
    listener: (payload: SenderEvents<chain>[event]) => void,
  ): () => void
  /** Sets the fate of an unresolved transaction by decision of the operator. */
  resolve(id: string, fate: Exclude<Fate, 'inFlight'>): Promise<void>
  /**
   * The current state of the lane. The lease owner makes no request for it; a standby reads the counts and
   * the newest block.
   *
   * @throws TxlaneError as `ready`, which it waits for; `CLOSED`
   */
  snapshot(): Promise<LaneSnapshot>
  /**
   * Reads the account again, at `latest` and at `pending`: its counts, its code, and the state that open
   * transactions declare (`deploys`, `effect`). Resolves when the lane has taken the counts into account. The
   * lease owner makes two requests, one after the other, and one more for declared state. A standby makes one,
   * for the account, and reads the store.
   *
   * @throws TxlaneError as `ready`, which it waits for; `UNREACHABLE`; `CLOSED`
   */
  resync(): Promise<void>
  /**
   * Stops reserving nonces; in-flight transactions continue and are repaired. Applies to this process only: a
   * lane that another process owns continues there.
   */
  pause(): void
  /** Ends `pause`, and lifts the holds that wait for an operator: see `HoldReason`. */
  resume(): void
  /**
   * Changes the fees that the lane may offer. The next bump and the next transaction use the new values, and
   * transactions at their ceiling are reconsidered at once. Applies to every sender of the lane in this
   * process, until the lane is closed or the fees change again. A lane that another process owns keeps the
   * values set there. Signed transactions stay as they are.
   *
   * @throws TxlaneError `INVALID` at once
   */
  setFees(fees: FeeChange): void
  /**
   * Resolves when the queue is empty, all transactions are sealed and no gap is left. Only the lease owner
   * waits for nonces that were handed to outside code; other processes need not.
   *
   * @throws TxlaneError `CLOSED`, fate `inFlight`, if the lane closes before that; `ABORTED` by the signal
   */
  drain(options?: { signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Signs the transactions that have a nonce, sends them to an endpoint and fills gaps, within
   * `limits.closeTimeoutMs`, and then releases the lease. Queued transactions end with `CLOSED` and
   * `notExecuted`; in a durable store they stay queued for the next process that opens the lane. A
   * transaction not yet handed to the store ends with `CLOSED` at once. Pending waits reject with `CLOSED`.
   * Otherwise it waits only for requests that are on the wire, until their timeout, and for the store: not for an
   * endpoint that refuses or does not answer, also while the lane opens. Then no request follows.
   *
   * Not guaranteed: that sent transactions are in a block, or that an endpoint has accepted them; call
   * `drain()` before `close()` to wait for that. With a durable store, the next process that opens the lane
   * resends lost transactions. With `memoryStore()` no process does, and the logger is warned if transactions
   * are in flight.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Keeps transactions and attempts. `memoryStore()` makes one; its methods matter only to authors of another
 * store.
 */
export type Store = import('./store.js').Store
