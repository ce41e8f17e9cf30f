import type { Address, Hash, Hex, SerializeTransactionFn, TransactionSerializable } from 'viem'
import type { SendOptions } from './tx.js'
import type { WaitReason } from './wait.js'

/**
 * The reason why a lane reserves no nonces for now. Repair of in-flight nonces continues under every hold.
 */
export type HoldReason =
  /** The caller called `pause()`. Lifted by `resume()`. */
  | 'paused'
  /**
   * The balance cannot pay for the transaction at the lowest nonce, or for any of the waiting transactions.
   * Lifted when it can pay for that one, or for one of those.
   */
  | 'starved'
  /** A no-op is refused, or the balance cannot pay for it. Lifted when an endpoint accepts a no-op. */
  | 'blocked'
  /** It is unknown whether a commit succeeded. Lifted when the store has been read again. */
  | 'unknownCommit'
  /**
   * The account's nonce count is more than 64 above the count that the lane knows and no block body explains
   * it, or more than 64 nonces below signed transactions are empty. Lifted when block bodies explain or
   * refute the count, or by `resume()`, which accepts it.
   */
  | 'jump'
  /**
   * A reorg removed a block deeper than `lossDepth`. Lifted by `resume()`, or when the same block returns
   * because an endpoint only showed a shorter chain for a while.
   */
  | 'deepReorg'
  /**
   * The records that this process has open are not the records that other processes see: the store's file was
   * deleted, moved or replaced. Lifted when a heartbeat finds the file at its path again; otherwise the
   * process must be restarted.
   */
  | 'storeReplaced'
  /**
   * At start the store knows fewer nonces than the chain, and no endpoint that answers contradicts this.
   * Lifted by `resume()`, or when three later readings of every endpoint in a row count no more than the
   * store knows.
   */
  | 'storeBehindChain'
  /**
   * The nonce counts at start are not trusted yet. They have to settle (`coldStart`), or `pending` is more
   * than `limits.seedSpanMax` above the lane's records (`latest` if there are none), or two readings disagree
   * whether the store knows all transactions that the chain has. Lifted by later readings, or by `resume()`.
   */
  | 'seeding'
  /**
   * A transaction that authorizes for the lane's own account (EIP-7702) is in flight; it is sent alone.
   * Lifted when a sealed block contains it, or it has released its nonces.
   */
  | 'authorizing'
  /**
   * The next transaction could bring the lane's fees above `fees.budget`. Lifted as the window slides, by a
   * higher budget (`setFees`), and by `resume()`, which restarts the window.
   */
  | 'feeBudget'
  /**
   * A transaction was moved to another nonce more than three times, each time because others used its nonce.
   * Lifted by `resume()`.
   */
  | 'rebound'

/** The current state of a lane. */
export type LaneSnapshot = {
  /**
   * True if this process owns the lease and assigns the lane's nonces. Otherwise another process does, or no
   * process while the lane is idle. In that case the counts are those of the chain (the last readings, if no
   * node answers), and the fields that only the lease owner knows (holes, holds, window, balance) are empty.
   */
  holder: boolean
  /** The chain id of the lane. */
  chainId: number
  /** The account of the lane. */
  address: Address
  /** The lowest nonce not used in the latest sealed block. */
  floor: number
  /** The next nonce to assign if there is no hole. */
  cursor: number
  /**
   * All nonces below this one are covered: a block used them, a pre-confirmation shows them, or the node's
   * `pending` count includes them.
   */
  coveredTo: number
  /**
   * The number of nonces that may be unacknowledged at once, over all endpoints. Answers and losses change
   * it.
   */
  window: number
  /**
   * Nonces below the cursor that are bound to no transaction. The next transactions take them, or a no-op
   * does.
   */
  holes: number[]
  /** Number of transactions without a nonce. */
  queued: number
  /**
   * Number of nonces that were taken and that no sealed block has used: by transactions, no-ops and outside
   * code. In a standby it counts the transactions that this process knows.
   */
  inFlight: number
  /** The reasons why no nonces are reserved now; empty while nonces are reserved. */
  holds: HoldReason[]
  /**
   * For holds that need more explanation than their name: the reading that caused the hold, and the event
   * that lifts it.
   */
  holdDetails?: Partial<Record<HoldReason, string>>
  /** The newest sealed block that was read. */
  head: { number: number; hash: Hash } | undefined
  /** The last known balance of the account, in wei. It is read only when it matters. */
  balanceWei: bigint | undefined
  /**
   * Fees in the windows of `fees.budget`, in wei: the fees spent, and the maximum that in-flight transactions
   * may add. Contains the windows that have a limit.
   */
  feeBudget?: {
    hour?: { spentWei: bigint; limitWei: bigint }
    day?: { spentWei: bigint; limitWei: bigint }
  }
  /** The code at the account's address: none, a contract, or a delegation (EIP-7702). */
  account: { kind: 'plain' } | { kind: 'contract' } | { kind: 'delegated'; to: Address } | { kind: 'unknown' }
  /** The endpoints that the lane uses. */
  endpoints: {
    /** The origin of the endpoint's URL, or the name of its transport. */
    name: string
    /** `both`, `read` or `send`. */
    role: string
    /** The endpoint profile: given in the options, probed or learned. */
    profile: object
    /** Number of HTTP requests sent to it. */
    requests: number
    /** Number of JSON-RPC calls in these requests. */
    calls: number
    /** The reason why the endpoint is not used for now, after it reported that it is asked too often. */
    rests?: string
    /**
     * The request budget, if the endpoint or `limits` set one: requests and JSON-RPC calls per second, the
     * number of requests that wait for their turn, and the number of requests that the endpoint denied.
     */
    budget?: {
      requestsPerSecond: number | undefined
      callsPerSecond: number | undefined
      waiting: number
      denied: number
    }
    /**
     * Set while the answers of the endpoint are unusable: `sinceMs` in wall time; `said` quotes the last
     * answer.
     */
    failing?: { sinceMs: number; said: string } | undefined
  }[]
  /**
   * The reasons why transactions that no sealed block contains are waiting. `head`: the reason of the
   * transaction at the lowest nonce, or of the earliest sent one. `by`: the number of transactions for each
   * reason, counted over at most 10,000 of them; the reason of `head` comes first, then the most frequent
   * ones.
   */
  waiting: {
    head: (WaitReason & { id: string }) | undefined
    by: Partial<Record<WaitReason['for'], number>>
  }
}

/**
 * The options that apply to a whole sequence. `id` names the sequence: its transactions are `id/0`, `id/1`
 * and so on.
 */
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
  /**
   * The share of each group that `named` does not list, and the default of each field that `named` leaves
   * out.
   */
  each?: GroupShare | undefined
  /** The share of a group, by its name. */
  named?: Readonly<Record<string, GroupShare>> | undefined
}

/** The share and limits of a group. Transactions without a group have weight 1 and no limits. */
export type GroupShare = {
  /** If two groups wait, a group with twice the weight gets twice as many nonces. @default 1 */
  weight?: number | undefined
  /**
   * Maximum number of transactions of the group that wait for a nonce. One more is refused with QUEUE_FULL.
   * In a pool it counts all lanes of this process together. @default no limit besides `limits.queueMax`
   */
  queueMax?: number | undefined
  /**
   * Maximum number of transactions of the group that have a nonce and are in no sealed block. Further ones
   * wait while other groups go ahead. In a pool it counts all lanes that this process owns together.
   * @default no limit of its own
   */
  inFlightMax?: number | undefined
}

/** Limits and times of a lane (P9). Every field has a default and may be set. */
export type Limits = {
  /**
   * Maximum number of transactions that wait for a nonce. One more is refused with QUEUE_FULL.
   * @default 100_000
   */
  queueMax: number
  /**
   * Number of nonces that may be unacknowledged at one endpoint at the start, if its behaviour is unknown. It
   * doubles with each full window that is acknowledged, and halves with a loss. geth accepts more at once,
   * and is sent more. @default 64
   */
  window: number
  /** Maximum number of nonces that may be unacknowledged at one endpoint. @default 2_048 */
  windowMax: number
  /**
   * Maximum number of in-flight nonces of an account with delegated code (EIP-7702). Node pools accept few of
   * them: geth and reth 1, Base 4. @default 1
   */
  delegatedMax: number
  /**
   * Maximum number of calls in one request, of any kind; reads go in batches of at most 100. The batches of
   * transactions grow towards this limit with each batch that is answered. An endpoint that refuses a batch
   * gets smaller ones. @default 1_000
   */
  batchMax: number
  /** Maximum number of open send requests per endpoint. @default 4 */
  requestsMax: number
  /** Maximum number of concurrent gas estimations. @default 200 */
  prepareMax: number
  /**
   * Maximum number of concurrent signatures. Eight times as many transactions may wait for the journal.
   * @default 100
   */
  signMax: number
  /** Milliseconds after which the result of a send without an answer is unknown. @default 10_000 */
  sendTimeoutMs: number
  /** Milliseconds after which a read without an answer fails. @default 5_000 */
  readTimeoutMs: number
  /**
   * Milliseconds during which an opening lane retries endpoints that do not answer, lose calls or report that
   * they are asked too often. After that `ready` and sends reject. Each call is retried separately.
   * @default 30_000
   */
  readyTimeoutMs: number
  /**
   * Milliseconds during which `wait` asks for the receipt of a transaction in a sealed block. After that it
   * rejects with `NO_RECEIPT` (fate `executed`, because the block proves it). If the block is final and the
   * receipts shown contradict it, three contradictions and 30 s are enough. The receipt is asked for at most
   * once per block, from the other endpoints too. @default 600_000
   */
  receiptPatienceMs: number
  /**
   * Maximum milliseconds for which an endpoint is left alone after it reported that it is asked too often,
   * even if it asks for a longer pause (`Retry-After`, "retry in 10m0s", `backoff_seconds`). @default 60_000
   */
  restMsMax: number
  /**
   * Maximum requests per second to one URL, over all lanes, senders and allocators of the process that set
   * the same limits. Transactions have priority, receipts come last. @default no limit until the endpoint
   * reports that it is asked too often
   */
  requestsPerSecond: number | undefined
  /**
   * As `requestsPerSecond`, but for JSON-RPC calls: each call of a batch counts, as many providers count
   * them. @default like `requestsPerSecond`
   */
  callsPerSecond: number | undefined
  /**
   * Maximum size of one answer of an endpoint in bytes, uncompressed. A larger answer is discarded: the
   * result of a send is unknown then, and a batch of reads is repeated in halves. Over WebSocket the socket's
   * own limit applies first; a custom transport has no limit. geth limits its own answers to 25 MB per batch,
   * Nethermind to 32 MiB. @default 67_108_864
   */
  responseBytesMax: number
  /**
   * Milliseconds that a gap waits for a transaction to fill it. After that a no-op fills it. @default 1_000
   */
  gapFillAfterMs: number
  /** Maximum number of no-ops in flight. @default 16 */
  fillsMax: number
  /**
   * Number of sealed blocks after a resend without success until the fees are bumped. The resend itself
   * happens after one block. @default 2
   */
  stuckAfterBlocks: number
  /** Minimum milliseconds before a resend and before a bump, in addition to the blocks. @default 2_000 */
  stuckAfterMs: number
  /**
   * Milliseconds during which the lane looks for the block body that shows which transaction used a nonce.
   * After that the transaction is reported `UNRESOLVED`. @default 600_000
   */
  evidencePatienceMs: number
  /**
   * Maximum number of nonces, the lowest ones, that are checked when blocks pass without including them.
   * @default 64
   */
  resendMax: number
  /** Milliseconds that a nonce handed to outside code may stay without a report. @default 120_000 */
  reservationTtlMs: number
  /**
   * Milliseconds that `close` waits for reserved nonces to be signed and sent, and for gaps to be filled.
   * @default 10_000
   */
  closeTimeoutMs: number
  /**
   * The least number of milliseconds between polls while a transaction is open, except for a few right after a
   * send. If the endpoint rebuilds a pre-confirmed `pending` block more slowly than this, up to every 1,250 ms,
   * there is one poll per rebuild; the time between rebuilds is learned from what polls show. The interval rises
   * up to 600 while only the next block can bring news and blocks are more than 4 s apart. @default 200
   */
  pollIntervalMs: number
  /**
   * Number of blocks below the newest one whose reorgs the poller follows by itself; it remembers the hashes
   * of more than twice as many. A block below them is compared with the chain only when a lane starts. It says
   * nothing about finality: see the option `finality`. @default 64
   */
  reorgHorizon: number
  /**
   * Maximum distance of `pending` at start above the nonces that the lane knows (from its records, or
   * `latest` if there are none). A larger distance is not believed: the lane has the hold `seeding` until a
   * later reading is within the limit. @default 1_024
   */
  seedSpanMax: number
  /**
   * Milliseconds after which `coldStart: 'settle'` stops waiting for matching counts. The next reading is
   * believed. @default 30_000
   */
  coldStartMaxMs: number
}

/**
 * An account that returns the hash together with the signed bytes. A lane uses that hash and does not hash
 * the bytes again.
 */
export type EnvelopeSigner = {
  /**
   * The address of the key that signs. If it is the account's own address, the lane need not recover the
   * signer from the signature.
   */
  readonly signsAs: Address
  /**
   * Returns the signed bytes, or a promise for them. `hash` is the hash of the raw bytes, under which a node
   * knows the transaction.
   */
  signEnvelope(
    transaction: TransactionSerializable,
    serializer?: SerializeTransactionFn<TransactionSerializable> | undefined,
  ): { raw: Hex; hash: Hash } | Promise<{ raw: Hex; hash: Hash }>
}
