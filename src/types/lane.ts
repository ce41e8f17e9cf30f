import type { Address, Hash, Hex, SerializeTransactionFn, TransactionSerializable } from 'viem'
import type { SendOptions } from './tx.js'
import type { WaitReason } from './wait.js'

/** Why a lane reserves no nonces for now. Repair goes on under every one of them. */
export type HoldReason =
  /** `pause()`; lifted by `resume()`. */
  | 'paused'
  /** The head cannot be paid, or nothing of what waits; lifted when the balance can, or something that waits. */
  | 'starved'
  /** A no-op cannot be paid or is refused; lifted when one is accepted. */
  | 'blocked'
  /** Nobody knows whether a commit took; lifted when the store has been read again. */
  | 'unknownCommit'
  /**
   * The account's count is more than 64 above what the lane knows and no body explains it, or more than 64 nonces below
   * signed transactions are empty. Lifted when bodies explain the count or refute it, or by `resume()`, which believes it.
   */
  | 'jump'
  /**
   * A block beyond `lossDepth` left the chain; lifted by `resume()`, and where the same block comes back: an endpoint showed
   * a shorter chain for a while.
   */
  | 'deepReorg'
  /**
   * The records that the store has open are not those that other processes find: its file was deleted, moved or replaced.
   * Lifted when a heartbeat finds it at its path again; otherwise the process has to be started again.
   */
  | 'storeReplaced'
  /**
   * The store knows less than the chain at start, and no endpoint that answers denies it; lifted by `resume()`, or when
   * three later readings in a row, of every endpoint, count no more than the store knows.
   */
  | 'storeBehindChain'
  /**
   * The counts that the lane began with are not believed yet: they have to settle (`coldStart`), `pending` is more than
   * `limits.seedSpanMax` above what the lane knows (its records, or `latest` without any), or two readings contradict
   * each other about whether the store knows all that the chain has. Lifted by later readings, or by `resume()`.
   */
  | 'seeding'
  /**
   * A transaction that authorizes for the lane's own account (EIP-7702) is under way: it goes alone. Lifted when a
   * sealed block has it, or it has given its nonces back.
   */
  | 'authorizing'
  /**
   * The next transaction could bring the lane's fees above `fees.budget`. Lifted as the window slides, by a higher budget
   * (`setFees`), and by `resume()`, which begins the window anew.
   */
  | 'feeBudget'
  /** A transaction was moved to another nonce more than three times, each time because its nonce was used by others; lifted by `resume()`. */
  | 'rebound'

/** What a lane looks like now. */
export type LaneSnapshot = {
  /**
   * This process hands out the lane's nonces. Otherwise another one does, or nobody while there is nothing to do: the
   * counts are the chain's own then, as they were read last where no node answers, and what only the holder's books say
   * (holes, holds, window, balance) is missing.
   */
  holder: boolean
  /** The lane's chain. */
  chainId: number
  /** The lane's account. */
  address: Address
  /** Lowest nonce not used in the latest sealed block. */
  floor: number
  /** Next nonce to hand out when there is no hole. */
  cursor: number
  /** All below is covered. */
  coveredTo: number
  /** Nonces that may be unacknowledged at once, over all endpoints: how many it is changes with answers and losses. */
  window: number
  /** Nonces below the cursor that are bound to nothing. The next transactions take them, or a no-op does. */
  holes: number[]
  /** Transactions without a nonce. */
  queued: number
  /**
   * Nonces that were taken and that no sealed block has used: of transactions, of no-ops and of outside code. Elsewhere than
   * with the holder: those of the transactions that this process knows.
   */
  inFlight: number
  /** Why no nonces are reserved now; empty while they are. */
  holds: HoldReason[]
  /** For a hold that has more to say than its name: what was read, and what lifts it. */
  holdDetails?: Partial<Record<HoldReason, string>>
  /** The newest sealed block that was read. */
  head: { number: number; hash: Hash } | undefined
  /** The account's balance as it was read last, in wei. It is read where it begins to matter. */
  balanceWei: bigint | undefined
  /** Fees in the windows of `fees.budget`, in wei: spent, and bound for what is in flight. Those that are bounded. */
  feeBudget?: {
    hour?: { spentWei: bigint; limitWei: bigint }
    day?: { spentWei: bigint; limitWei: bigint }
  }
  /** The code at the address: none, a contract, or a delegation (EIP-7702). */
  account: { kind: 'plain' } | { kind: 'contract' } | { kind: 'delegated'; to: Address } | { kind: 'unknown' }
  /** The nodes that the lane talks to. */
  endpoints: {
    /** Origin of its URL, or the name of its transport. */
    name: string
    /** `both`, `read` or `send`. */
    role: string
    /** What is known of it: given, probed or learned. */
    profile: object
    /** HTTP requests that it was sent. */
    requests: number
    /** JSON-RPC calls in them. */
    calls: number
    /** Why it is not asked for now, where it said that it is asked too often. */
    rests?: string
    /**
     * How often it is asked: requests and JSON-RPC calls a second, where the endpoint or `limits` bound them; how many
     * requests wait for their turn; and how many it has denied.
     */
    budget?: {
      requestsPerSecond: number | undefined
      callsPerSecond: number | undefined
      waiting: number
      denied: number
    }
    /** Its answers are of no use, since then, in wall time; `said` quotes the last one. */
    failing?: { sinceMs: number; said: string } | undefined
  }[]
  /**
   * What transactions wait for that no sealed block has yet. `head`: the reason of the one at the lowest nonce, or of the
   * first that was called. `by`: how many wait for what, counted over 10,000 of them at most; the reason of `head`
   * first, then the most frequent ones.
   */
  waiting: {
    head: (WaitReason & { id: string }) | undefined
    by: Partial<Record<WaitReason['for'], number>>
  }
}

/** What goes for all of a sequence; `id` names it: its transactions are `id/0`, `id/1` and so on. */
export type SequenceOptions = Pick<
  SendOptions,
  | 'id'
  | 'again'
  | 'until'
  | 'expires'
  | 'onExpiry'
  | 'signal'
  | 'priority'
  | 'starved'
  | 'feeCeiling'
  | 'feePreset'
  | 'after'
  | 'afterStage'
  | 'afterStatus'
  | 'affinity'
  | 'group'
  | 'order'
>

/** How groups share a lane, or the lanes of a pool. */
export type GroupPolicy = {
  /** For each group that `named` does not name, and where `named` leaves something out. */
  each?: GroupShare | undefined
  /** By the group. */
  named?: Readonly<Record<string, GroupShare>> | undefined
}

/** What a group may take. Transactions that name no group have weight 1 and no bounds. */
export type GroupShare = {
  /** Of two groups that both wait, one with twice the weight gets twice as many nonces. @default 1 */
  weight?: number | undefined
  /**
   * Transactions of the group that wait for a nonce; one more is refused with QUEUE_FULL. In a pool: in all lanes of this
   * process together. @default no bound but `limits.queueMax`
   */
  queueMax?: number | undefined
  /**
   * Transactions of the group that have a nonce and are in no sealed block; one more waits, and other groups go before it.
   * In a pool: in all lanes that this process holds together. @default no bound of its own
   */
  inFlightMax?: number | undefined
}

/** Bounds and times of a lane (P9). Every field has a default and may be set. */
export type Limits = {
  /** Transactions that wait for a nonce; one more is refused with QUEUE_FULL. @default 100_000 */
  queueMax: number
  /**
   * Nonces that may be unacknowledged at one endpoint at first, where nothing is known of it. It doubles with each full
   * window that is acknowledged, and halves with a loss. geth takes more at once, and is sent more. @default 64
   */
  window: number
  /** Nonces that may be unacknowledged at one endpoint at most. @default 2_048 */
  windowMax: number
  /**
   * Nonces of an account with delegated code (EIP-7702) that no sealed block has used. Pools take few of them at once:
   * geth and reth 1, Base 4. @default 1
   */
  delegatedMax: number
  /**
   * Calls in one request, of whatever kind; reads go in batches of 100 at most. The batches of transactions grow towards
   * it with each that is answered. An endpoint that refuses a batch is asked in smaller ones. @default 1_000
   */
  batchMax: number
  /** Send requests open at one endpoint at once. @default 4 */
  requestsMax: number
  /** Gas estimations under way at once. @default 200 */
  prepareMax: number
  /** Signatures under way at once; eight times as many transactions may wait for the journal. @default 100 */
  signMax: number
  /** Milliseconds until a send without an answer is unknown. @default 10_000 */
  sendTimeoutMs: number
  /** Milliseconds until a read without an answer has failed. @default 5_000 */
  readTimeoutMs: number
  /**
   * Milliseconds that a lane which opens asks endpoints that do not answer, lose calls or say that they are asked too
   * often, before `ready` and sends reject. Each call is asked again by itself. @default 30_000
   */
  readyTimeoutMs: number
  /**
   * Milliseconds that `wait` asks for the receipt of a transaction in a sealed block before it rejects with
   * `NO_RECEIPT` (fate `executed`: the block proves it). Where that block is final and the receipts shown contradict
   * it, three of them and 30 s are enough. It is asked for at most once a block, of the other endpoints too. @default
   * 600_000
   */
  receiptPatienceMs: number
  /**
   * Milliseconds that an endpoint is left alone at most after it said that it is asked too often, however long it asks
   * for (`Retry-After`, "retry in 10m0s", `backoff_seconds`). @default 60_000
   */
  restMsMax: number
  /**
   * Requests that one URL gets in a second, from all lanes, senders and allocators of the process that give it the same
   * limits. Transactions go first, receipts last. @default no limit until the endpoint says that it is asked too often
   */
  requestsPerSecond: number | undefined
  /** The same for JSON-RPC calls, each of a batch counted, as many providers do. @default like `requestsPerSecond` */
  callsPerSecond: number | undefined
  /**
   * Bytes of one answer of an endpoint, unpacked: what is larger is cut, and is no answer (unknown, for a send). A batch
   * of reads is asked again in halves then. Over WebSocket the socket's own bound comes first; a custom transport has
   * none. geth's own is 25 MB for a batch, Nethermind's 32 MiB. @default 67_108_864
   */
  responseBytesMax: number
  /** Milliseconds a gap waits for a transaction to fill it before a no-op does. @default 1_000 */
  gapFillAfterMs: number
  /** No-ops under way at once. @default 16 */
  fillsMax: number
  /**
   * Sealed blocks that go by after a nonce was resent in vain until it is bumped; the resend itself comes after one
   * block. @default 2
   */
  stuckAfterBlocks: number
  /** And the least time for either, in milliseconds. @default 2_000 */
  stuckAfterMs: number
  /**
   * How long the body that must show who used a nonce is looked for, in milliseconds, before its transaction is reported
   * `UNRESOLVED`. @default 600_000
   */
  evidencePatienceMs: number
  /** Nonces that are looked at when blocks go by without them, the lowest ones. @default 64 */
  resendMax: number
  /** Milliseconds a nonce handed to outside code may stay silent. @default 120_000 */
  reservationTtlMs: number
  /** Milliseconds `close` waits for what is reserved to be signed and sent, and for gaps. @default 10_000 */
  closeTimeoutMs: number
  /**
   * Milliseconds between polls while something is open; more, up to 600, where nothing but the next block can say more and
   * blocks are slower than every 4 s. @default 200, or what the endpoint refreshes at
   */
  pollIntervalMs: number
  /** Blocks after which no reorg is expected, where `finalized` does not move. @default 64 */
  reorgHorizon: number
  /**
   * Nonces that `pending` may be above what the lane knows when it begins: its records, or `latest` without any. More
   * are not believed: the lane has the hold `seeding` until a later reading is within it. @default 1_024
   */
  seedSpanMax: number
  /**
   * Milliseconds after which `coldStart: 'settle'` waits no longer for counts that agree: the next reading is believed.
   * @default 30_000
   */
  coldStartMaxMs: number
}

/** An account that hands over the hash of what it signed: a lane asks it, and hashes nothing twice. */
export type EnvelopeSigner = {
  /**
   * The address of the key that it signs with. Where that is the account's own, nobody need recover it from what was
   * signed.
   */
  readonly signsAs: Address
  /** `hash` is that of the raw bytes, under which a node knows the transaction. */
  signEnvelope(
    transaction: TransactionSerializable,
    serializer?: SerializeTransactionFn<TransactionSerializable> | undefined,
  ): Promise<{ raw: Hex; hash: Hash }>
}
