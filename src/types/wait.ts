import type { Address, Chain, GetTransactionReceiptReturnType, Hash, Hex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../errors/base.js'
import type { Stage, WaitStage } from './index.js'
import type { HoldReason } from './lane.js'

/**
 * The state of a transaction as plain JSON: amounts in wei as decimal digits, times as ISO 8601. It contains
 * no calldata, no signed bytes and no key.
 */
export type TxRecord = {
  /** The caller's idempotency key, or a generated one. */
  id: string
  /** The chain id. */
  chainId: number
  /** The account that sends it. In a pool it may change as long as the transaction has no nonce. */
  from: Address
  /** The recipient in the request; missing for a contract creation. */
  to?: Address
  /** The value in wei, as decimal digits. */
  value: string
  /** The stage at the time of the record. */
  stage: Stage
  /** The account's nonce; missing before one was assigned, and after the transaction lost it. */
  nonce?: number
  /** The hash of the newest attempt, or of the attempt in a block; missing before the first signature. */
  hash?: Hash
  /** The sealed block that contains it; a reorg may remove it from the block. */
  block?: { number: number; hash: Hash }
  /**
   * Whether it reverted. Receipts are read only for callers that wait, so the field is missing before `wait`,
   * or `sendMany` with `until`, has read one. A wait in the process that owns the lease (a process with work
   * usually does) stores it for all others; otherwise only the process that waited knows it.
   */
  status?: 'success' | 'reverted'
  /**
   * The error that ended the transaction without execution. For a transaction that executed and reverted it
   * is `REVERTED`, if `status` is known.
   */
  error?: {
    /** The error code. */
    code: TxlaneErrorCode
    /** Whether the transaction may be sent again. */
    fate: Fate
    /** The error in one sentence. */
    message: string
    /** The words of a node, a signer or a store: at most 1,000 characters, without URLs and secrets. */
    details?: string
    /**
     * With `PREPARE_REVERTED` and `REVERTED`: the text of a `require` or `revert`, or `Panic` with its
     * number. A custom error needs an ABI: viem's `decodeErrorResult` reads it from `data`.
     */
    reason?: string
    /**
     * With both codes: the bytes that the contract returned, if the node reported them and they are at most 1
     * kB. A receipt does not contain them, so after a caller waited for the receipt the transaction is run
     * again on the state after its block (`eth_call`). The field is missing if the node no longer has that
     * state, or if the transaction does not revert on it.
     */
    data?: Hex
  }
  /** The gas limit of its attempts, as decimal digits; missing before it is known. */
  gas?: string
  /**
   * The fees per gas that the newest attempt offers, in wei as decimal digits; missing before the first
   * signature.
   */
  fees?: RecordedFees
  /**
   * The signed attempts, oldest first: each bump, and each new nonce, adds one. The newest 16 are kept.
   * Attempts signed in the last write before a crash may lack their time.
   */
  attempts: {
    /** The account's nonce in the signed transaction. */
    nonce: number
    /** The transaction hash, by which nodes and explorers know the attempt. */
    hash: Hash
    /** The fees per gas that it offers, in wei as decimal digits. */
    fees: RecordedFees
    /** The time at which its bytes were in the store, before they were first sent. */
    signedAt?: string
  }[]
  /**
   * The cost of the transaction by its receipt; known if `status` is. Not guaranteed: fees that are in no
   * receipt as viem reads it, for example the operator fee of some OP-stack chains.
   */
  costs?: {
    /** Units of gas, as decimal digits. */
    gasUsed: string
    /** The price paid per gas, in wei as decimal digits. */
    effectiveGasPrice: string
    /** On OP-stack chains: the fee for its data on L1, in wei as decimal digits. */
    l1Fee?: string
    /** The total in wei, as decimal digits: gas, blobs and `l1Fee`, without the transaction's `value`. */
    totalFee: string
  }
  /** The group given to `send`. */
  group?: string
  /** The id of the transaction whose nonce this one is to take. */
  replaces?: string
  /** The id of the replacement that took its place or its nonce; missing until it ended as superseded. */
  supersededBy?: string
  /** The time at which it was accepted into the queue, by the wall clock of the accepting process. */
  createdAt: string
  /**
   * The time at which its stage, hash or status last changed, by the wall clock of the lease owner. In
   * another process it is the time of the last change in the store: a stage that no other process waits for
   * is stored with the next change. Missing if a version of txlane without this field made the record.
   */
  updatedAt?: string
  /**
   * The time at which its outcome became certain, by the same clock: that it executed, at the lane's
   * `lossDepth`, or that it never will. Missing until then, and again if a reorg undoes it.
   */
  finishedAt?: string
  /** The reason why it does not progress, in a sentence. */
  waitingFor?: string
}

/** Filters of `list`; a transaction has to match all of them. */
export type ListOptions = {
  /** The stage. @default all stages */
  stage?: Stage | undefined
  /** The group given to `send`. @default all groups */
  group?: string | undefined
  /**
   * The account, which may be any account of the chain and store. `any`: all accounts that the store has for
   * the chain, including accounts that no process serves any more. @default the sender's own; in a pool all
   * of its accounts
   */
  account?: Address | 'any' | undefined
  /**
   * Transactions created at this time or later. A string is ISO 8601 with its time zone, as `createdAt` of a
   * record.
   */
  createdAfter?: Date | string | undefined
  /** Transactions created before this time. */
  createdBefore?: Date | string | undefined
  /** Maximum number of records, up to 10,000. @default 100 */
  limit?: number | undefined
  /** The cursor of the previous page; this page continues after it. */
  cursor?: string | undefined
}

/** A page of records. */
export type RecordPage = {
  /** The records, newest first. */
  items: TxRecord[]
  /** The cursor for the next page; missing on the last page. */
  cursor?: string
}

/** A gas price, in wei as decimal digits. */
export type RecordedFees =
  | {
      /** The price per gas. */
      gasPrice: string
    }
  | {
      /** The maximum price per gas. */
      maxFeePerGas: string
      /** The part of it that goes to the block producer. */
      maxPriorityFeePerGas: string
    }

type LandedBase = {
  /** The id of the landed transaction, as `Tx.id`. */
  id: string
  /** The account's nonce that it used. */
  nonce: number
  /** The hash of the attempt that is in the block. Bumps give a transaction several attempts. */
  hash: Hash
}

type LandedPreconfirmed<chain extends Chain> = {
  /**
   * The endpoint's `pending` block contains it, or the endpoint answered the send with its receipt. No sealed
   * block that was read contains it.
   */
  stage: 'preconfirmed'
  /** Missing if the endpoint shows no receipt before the block is sealed. */
  status?: 'success' | 'reverted'
  /**
   * `null` if the endpoint shows no receipt yet. `blockHash` is that of the sealed block which the answer to the
   * send names (`eth_sendRawTransactionSync`), otherwise `null`.
   */
  receipt: (Omit<GetTransactionReceiptReturnType<chain>, 'blockHash'> & { blockHash: Hash | null }) | null
}

type LandedSealed<chain extends Chain> = {
  /** The stage that it reached, which may be later than the awaited one. */
  stage: Exclude<WaitStage, 'preconfirmed'>
  /** The status of the receipt. A reverted transaction has executed and is paid for. */
  status: 'success' | 'reverted'
  /** The receipt as viem returns it, for the chain of the client. */
  receipt: GetTransactionReceiptReturnType<chain>
}

/**
 * The result of `wait`, for the awaited stage. Before the block is sealed the status and the receipt may be
 * unknown, because not every endpoint serves receipts of pre-confirmed transactions.
 */
export type Landed<chain extends Chain = Chain, stage extends WaitStage = WaitStage> = LandedBase &
  (LandedSealed<chain> | ('preconfirmed' extends stage ? LandedPreconfirmed<chain> : never))

/** The options of `wait`. */
export type WaitOptions = {
  /**
   * Milliseconds after which `wait` rejects with WAIT_TIMEOUT. The transaction continues. @default no limit
   */
  timeoutMs?: number | undefined
  /** Ends the wait with ABORTED. The transaction continues. */
  signal?: AbortSignal | undefined
  /** Rejects with REVERTED if the transaction executed and reverted. @default false */
  throwOnRevert?: boolean | undefined
}

/**
 * The cause of a wait, with known details. Amounts are in wei. `endpoint` is the origin of an
 * endpoint's URL or the name of its transport. `said` quotes the endpoint, truncated, without URLs and
 * secrets.
 */
export type WaitCause =
  /**
   * The gas estimate or simulation of the transaction, which is unanswered, or is retried because the last answer was
   * `said`.
   */
  | { for: 'estimate'; endpoint: string; tries: number; said?: string | undefined }
  /** The transactions in its option `after`: these ids. */
  | { for: 'condition'; after: readonly string[] }
  /** Funds. `neededWei` is its maximum cost, `balanceWei` the last known balance. */
  | {
      for: 'funds'
      neededWei?: bigint | undefined
      balanceWei?: bigint | undefined
      said?: string | undefined
    }
  /**
   * A transaction that goes before it: the first one that is not ready, or its predecessor in the sequence.
   */
  | { for: 'order'; behind: string | undefined }
  /** The lane, which reserves no nonces for now. */
  | { for: 'hold'; holds: readonly HoldReason[]; details?: Partial<Record<HoldReason, string>> | undefined }
  /** The gas price: the endpoint has not reported it, or the base fee is above the transaction's maximum. */
  | {
      for: 'fee'
      endpoint: string
      said?: string | undefined
      offeredWei?: bigint | undefined
      baseFeeWei?: bigint | undefined
    }
  /** Room in the window: as many nonces as it allows are not covered yet. */
  | { for: 'window'; size: number; uncovered: number }
  /**
   * The group of the transaction: `inFlightMax` of the group are in flight, or all transactions with a group have the
   * gas of one block in flight.
   */
  | { for: 'group'; group: string; bound: 'inFlightMax' | 'blockGas' }
  /** The signature of the transaction, or the account's signer, which failed and is retried. */
  | { for: 'signature'; failed: boolean }
  /** The store, which keeps the transaction before it is sent, and its end before callers are notified. */
  | { for: 'journal' }
  /** A lower nonce that no accepted transaction fills yet. */
  | { for: 'nonce'; nonce: number }
  /** An endpoint that accepts its bytes: none has answered, or the answer `said` was no acceptance. */
  | { for: 'endpoint'; endpoint: string; said?: string | undefined }
  /** The next block. `accepted`: an endpoint accepted it; otherwise it is pre-confirmed. */
  | { for: 'block'; head: number | undefined; said?: string | undefined }
  /** The receipt of the transaction, which a caller waits for. */
  | { for: 'receipt'; hash: string | undefined; said?: string | undefined }
  /** The stage that a caller waits for. */
  | { for: 'finality'; stage: 'safe' | 'finalized' }
  /**
   * The transaction that used its nonce: the lane looks for it, or only an operator can decide (`operator`).
   */
  | { for: 'evidence'; nonce: number | undefined }

/** The reason why a transaction does not progress. */
export type WaitReason = WaitCause & {
  /**
   * Wall time since which it waits for this, in milliseconds since the epoch, accurate to a second or two.
   */
  sinceMs: number
  /** The reason in plain English: one sentence. Its wording may change. */
  sentence: string
  /** True if only an operator can end this wait: by `resume()`, `resolve()`, or funds for the account. */
  operator: boolean
}
