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
import type { SenderEvents } from './events.js'
import type { FeeChange, FeePolicy } from './fees.js'
import type { Health } from './health.js'
import type { GroupPolicy, LaneSnapshot, Limits, SequenceOptions } from './lane.js'
import type { Item, ItemResult, SendManyOptions, SendOptions, Tx, TxRequest } from './tx.js'
import type { ListOptions, RecordPage } from './wait.js'

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
  /** For every transaction that names none itself: see the option of `send`. @default 'wait', and 'fail' in a pool */
  starved?: 'wait' | 'fail' | undefined
  /** For every transaction that names none itself: see the option of `send`. @default 'relaxed' */
  order?: 'relaxed' | 'strict' | undefined
  /** How groups share the lane, or the lanes of a pool: see the option `group` of `send`. @default all alike */
  groups?: GroupPolicy | undefined
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

/** Sends transactions of one account on one chain. */
export interface Sender<chain extends Chain = Chain> {
  /** The chain of its client. */
  // Mapped, so that TypeScript 5 compares senders member by member: by the variance that it computes one that knows its
  // chain would not serve where any chain does.
  readonly chain: { readonly [name in keyof chain]: chain[name] }
  /** The account that signs and sends. */
  readonly address: Address
  /**
   * Probes the endpoints, takes the lane's lease where it is free, seeds the lane and asks what gas costs, so that the
   * first transaction finds all of it known. Where another process has the lease this one is its guest: what is sent
   * here goes to the holder by way of the store, and whoever is left takes the lane over. `send` waits for it by itself.
   *
   * `ready` of a pool also finds what would be noticed too late otherwise: accounts of its own that cannot pay for a
   * transfer, and unfinished work of other accounts of the same chain and store that no process serves. Both are told to the
   * `logger`, or to the console where there is none, and stand in the reasons of `health()` until it is called again.
   *
   * A call that was lost, has no answer or was refused for the rate is asked again by itself, until
   * `limits.readyTimeoutMs` has passed; a refusal in other words three times. May be called again after a rejection.
   *
   * @throws TxlaneError `UNREACHABLE` (no endpoint answers), `REJECTED` (a reading was refused; the code cannot be loaded), `CHAIN_MISMATCH`, `STORE`
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
  /**
   * By its id or the hash of any of its attempts, ended or not, of any account of this chain and store: ids are one for
   * all of them. What another account sent is followed in the store, and a cancel of it is left there for whoever has its
   * lane; `replace` is for its own sender. Undefined where the store has none.
   *
   * Where the lane is not open within a second, or no endpoint answers, it is what the store has: its fields are of then,
   * `wait` goes on once the lane opens, and `cancel`, `replace` and `speedUp` reject with why it does not. From when the lane
   * is open it is live.
   *
   * @throws TxlaneError `UNREACHABLE` where no endpoint answers and the store keeps several chains with this id; `STORE`
   */
  get(id: string | { hash: Hash }): Promise<Tx<chain> | undefined>
  /**
   * A page of the account's transactions in the store, newest first by `createdAt`. What is there when the first page is
   * asked for comes once in all pages together, whatever is sent meanwhile; of what changes its stage meanwhile, a list of one
   * stage has what fits when its page is read. Ended ones stay as long as the store keeps them. Without an answer of an
   * endpoint as the store has them, as `get` does.
   *
   * @throws TxlaneError as `get`; `INVALID` at once, for a cursor that no page gave back too; `STORE`
   */
  list(options?: ListOptions): Promise<RecordPage>
  /**
   * Those that this process knows at nonces that no sealed block has used, as `snapshot().inFlight` counts them: two at
   * one nonce where one is to replace the other, and none at a nonce of a no-op or of outside code.
   */
  inFlight(): readonly Tx<chain>[]
  /**
   * Whether it can take work now, and what stands in the way. From memory alone: no node and no store is asked, and no lane
   * is opened, so that a probe may call it each second. `ready()` opens the lane; before that it is not `ready` here.
   *
   * Not guaranteed: that an endpoint that nobody asks, since nothing is under way, would answer. It is taken as it was last.
   */
  health(): Health
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
   * Changes what the lane may offer, from now on: the next bump and the next transaction go by it, and what stands at its
   * ceiling is looked at again at once. For every sender of the lane in this process, until it is closed or changed again; a lane
   * that another process holds goes on by what was set there. What was signed before stays as it is.
   *
   * @throws TxlaneError `INVALID` at once
   */
  setFees(fees: FeeChange): void
  /**
   * Resolves when nothing is queued, all is sealed and no gap is left. Nonces that were handed to outside code are seen
   * through by the process that holds the lane; others need not wait for them.
   *
   * @throws TxlaneError `CLOSED`, fate `inFlight`, where the lane closes before that; `ABORTED` by the signal
   */
  drain(options?: { signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Signs what has a nonce, hands it to an endpoint and fills gaps, within `limits.closeTimeoutMs`, and gives the lane back
   * last. What is queued ends with `CLOSED` and `notExecuted`; in a store that outlives the process it stays, for whoever opens
   * the lane next. What the store has not been asked to keep yet is `CLOSED` at once. Who still waits is told `CLOSED`.
   *
   * Not guaranteed: that what was sent is in a block, or that an endpoint has accepted it. It is waited for by `drain()`, which
   * goes before. In a store that outlives the process whoever opens the lane next sends it again where it is lost; with
   * `memoryStore()` nobody does, and the logger is warned where something is in flight.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Where transactions and attempts are kept. Made by `memoryStore()`; the verbs are for those who write another. */
export type Store = import('./store.js').Store
