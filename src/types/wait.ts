import type { Address, Chain, GetTransactionReceiptReturnType, Hash, Hex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../errors/base.js'
import type { Stage, WaitStage } from './index.js'
import type { HoldReason } from './lane.js'

/**
 * What is known of a transaction, as plain JSON: amounts in wei as decimal digits, times as ISO 8601. Without its calldata,
 * its bytes and any key.
 */
export type TxRecord = {
  /** The caller's idempotency key, or a generated one. */
  id: string
  /** The chain's id. */
  chainId: number
  /** The account that sends it. In a pool it may become another as long as it has no nonce. */
  from: Address
  /** As it was asked for; missing where a contract is created. */
  to?: Address
  /** In wei, as decimal digits. */
  value: string
  /** How far it had come when the record was made. */
  stage: Stage
  /** The account's nonce; missing before one was taken, and after the transaction lost it. */
  nonce?: number
  /** Of the newest attempt, or of the one that a block has; missing before the first signature. */
  hash?: Hash
  /** The sealed block that has it; a reorg may take it out of it. */
  block?: { number: number; hash: Hash }
  /**
   * Whether it reverted. Receipts are read for who waits, and not for each transaction: missing before a `wait`, or
   * `sendMany` with `until`, has read one. A wait in the process that holds the lane, as one does that has work in
   * it, keeps it for all others; elsewhere it is known to the process that waited, alone.
   */
  status?: 'success' | 'reverted'
  /** Why it ended without executing; of what executed and reverted, `REVERTED`, where its `status` is known. */
  error?: {
    /** What happened. */
    code: TxlaneErrorCode
    /** Whether it may be sent again. */
    fate: Fate
    /** In a sentence. */
    message: string
    /** What a node, a signer or a store said of it: at most 1,000 characters, without URLs and secrets. */
    details?: string
    /**
     * With `PREPARE_REVERTED` and `REVERTED`: the text of a `require` or `revert`, or `Panic` with its number. A custom error takes an
     * ABI: viem's `decodeErrorResult` reads it from `data`.
     */
    reason?: string
    /**
     * With both: what the contract gave back, where the node told and it is no longer than 1 kB. A receipt does not have it:
     * once somebody waited for the receipt, the transaction was run again on the state after its block (`eth_call`). It is
     * missing where the node has forgotten that state, or where the transaction does not revert on it.
     */
    data?: Hex
  }
  /** The gas limit of its attempts, as decimal digits; missing before it is known. */
  gas?: string
  /** What the newest attempt offers for a unit of gas, in wei as decimal digits; missing before the first signature. */
  fees?: RecordedFees
  /**
   * What was signed of it, the oldest first: a bump, and each nonce that it was given, makes one more. The newest 16
   * are kept. What was signed within the last write before a crash may lack its time.
   */
  attempts: {
    /** The account's nonce that it was signed for. */
    nonce: number
    /** By which nodes and explorers know it. */
    hash: Hash
    /** What it offers for a unit of gas, in wei as decimal digits. */
    fees: RecordedFees
    /** When its bytes were in the store, before the first one left. */
    signedAt?: string
  }[]
  /**
   * What it has cost, as its receipt says: known where `status` is. Not guaranteed: fees that stand in no receipt as
   * viem reads it, as the operator fee of some OP-stack chains.
   */
  costs?: {
    /** Units of gas, as decimal digits. */
    gasUsed: string
    /** Paid for each, in wei as decimal digits. */
    effectiveGasPrice: string
    /** On OP-stack chains: for its data on the chain below, in wei as decimal digits. */
    l1Fee?: string
    /** All of it, in wei as decimal digits: gas, what its blobs cost, and `l1Fee`; without its `value`. */
    totalFee: string
  }
  /** As it was given to `send`. */
  group?: string
  /** The id of the transaction whose nonce it is to take. */
  replaces?: string
  /** The id of the replacement that took its place or its nonce; missing before it ended so. */
  supersededBy?: string
  /** When it was taken on, by the wall clock of the process that did. */
  createdAt: string
  /**
   * When its stage, hash or status changed last, by the wall clock of the process that works the lane. Elsewhere it
   * is that of what the store was told of: a stage that nobody waits for elsewhere is kept with the next change. Missing
   * where a version of txlane without it made the record.
   */
  updatedAt?: string
  /**
   * When its outcome was known, by the same clock: that it executed, at the lane's `lossDepth`, or that it never will.
   * Missing until then, and again where a reorg undoes that.
   */
  finishedAt?: string
  /** Why it is not further yet, in a sentence. */
  waitingFor?: string
}

/** Which transactions `list` gives: those for which all of it holds. */
export type ListOptions = {
  /** How far they have come. */
  stage?: Stage | undefined
  /** As it was given to `send`. */
  group?: string | undefined
  /**
   * Of this account, which may be any of the chain and store; or `any`: of all accounts that the store has of the chain, those
   * that no process serves any more among them. @default the sender's own; in a pool all of its accounts
   */
  account?: Address | 'any' | undefined
  /** Taken on at this time or later. A text is ISO 8601 with its zone, as `createdAt` of a record. */
  createdAfter?: Date | string | undefined
  /** Taken on before this time. */
  createdBefore?: Date | string | undefined
  /** At most so many, up to 10,000. @default 100 */
  limit?: number | undefined
  /** What the page before gave back: this one goes on behind it. */
  cursor?: string | undefined
}

/** A page of records. */
export type RecordPage = {
  /** Newest first. */
  items: TxRecord[]
  /** For the page behind it; missing with the last one. */
  cursor?: string
}

/** A price of gas, in wei as decimal digits. */
export type RecordedFees =
  | {
      /** For each unit of gas. */
      gasPrice: string
    }
  | {
      /** The most for each unit of gas. */
      maxFeePerGas: string
      /** Of that, what goes to who makes the block. */
      maxPriorityFeePerGas: string
    }

type LandedBase = {
  /** Of the transaction that landed, as `Tx.id`. */
  id: string
  /** The account's nonce that it used. */
  nonce: number
  /** Of the attempt that the block has: bumps give one transaction several. */
  hash: Hash
}

type LandedPreconfirmed<chain extends Chain> = {
  /** The endpoint's `pending` block has it, and no sealed one. */
  stage: 'preconfirmed'
  /** Missing where the endpoint shows no receipt before the block is sealed. */
  status?: 'success' | 'reverted'
  /** `null` where the endpoint shows none yet; its block has no hash. */
  receipt: (Omit<GetTransactionReceiptReturnType<chain>, 'blockHash'> & { blockHash: null }) | null
}

type LandedSealed<chain extends Chain> = {
  /** The stage that it had come to, which may be above the one waited for. */
  stage: Exclude<WaitStage, 'preconfirmed'>
  /** As in the receipt. A reverted transaction has executed and is paid for. */
  status: 'success' | 'reverted'
  /** As viem gives it, for the chain of the client. */
  receipt: GetTransactionReceiptReturnType<chain>
}

/**
 * What `wait` resolves with, for the stage that was waited for. Before the block is sealed the status and the receipt may
 * be unknown: not every endpoint serves receipts of pre-confirmed transactions.
 */
export type Landed<chain extends Chain = Chain, stage extends WaitStage = WaitStage> = LandedBase &
  (LandedSealed<chain> | ('preconfirmed' extends stage ? LandedPreconfirmed<chain> : never))

/** How `wait` is to wait. */
export type WaitOptions = {
  /** Milliseconds until it rejects with WAIT_TIMEOUT. The transaction goes on. @default no limit */
  timeoutMs?: number | undefined
  /** Ends the wait with ABORTED, and not the transaction. */
  signal?: AbortSignal | undefined
  /** Reject with REVERTED when it executed and reverted. @default false */
  throwOnRevert?: boolean | undefined
}

/**
 * What a transaction waits for, with what is known of it. Amounts are in wei. `endpoint` is the origin of an endpoint's
 * URL or the name of its transport; `said` quotes the endpoint, cut, and without URLs and secrets.
 */
export type WaitCause =
  /** Its gas estimate or simulation: not answered yet, or asked again since the last answer was `said`. */
  | { for: 'estimate'; endpoint: string; tries: number; said?: string | undefined }
  /** What it was sent `after`: these ids. */
  | { for: 'condition'; after: readonly string[] }
  /** Money. `neededWei` is what it may cost at most, `balanceWei` the balance as it was read last. */
  | {
      for: 'funds'
      neededWei?: bigint | undefined
      balanceWei?: bigint | undefined
      said?: string | undefined
    }
  /** A transaction that goes before it: the first that is not ready, or the one before it in its sequence. */
  | { for: 'order'; behind: string | undefined }
  /** The lane, which reserves no nonces for now. */
  | { for: 'hold'; holds: readonly HoldReason[]; details?: Partial<Record<HoldReason, string>> | undefined }
  /** What gas costs: the endpoint has not said it, or the base fee is above what the transaction offers. */
  | {
      for: 'fee'
      endpoint: string
      said?: string | undefined
      offeredWei?: bigint | undefined
      baseFeeWei?: bigint | undefined
    }
  /** Room: as many nonces as the window allows are not covered yet. */
  | { for: 'window'; size: number; uncovered: number }
  /**
   * Its group: `inFlightMax` of it are in flight, or all that name a group have the gas of one block in flight.
   */
  | { for: 'group'; group: string; bound: 'inFlightMax' | 'blockGas' }
  /** Its signature, or the account's signer, which failed and is asked again. */
  | { for: 'signature'; failed: boolean }
  /** The store, which keeps it before anything is sent, and its end before anybody is told. */
  | { for: 'journal' }
  /** A lower nonce that nothing accepted fills yet. */
  | { for: 'nonce'; nonce: number }
  /** An endpoint that takes its bytes: none has answered, or what it said was no acceptance. */
  | { for: 'endpoint'; endpoint: string; said?: string | undefined }
  /** The next block. `accepted`: an endpoint took it; otherwise it is pre-confirmed. */
  | { for: 'block'; head: number | undefined; said?: string | undefined }
  /** Its receipt, which a caller waits for. */
  | { for: 'receipt'; hash: string | undefined; said?: string | undefined }
  /** The stage that a caller waits for. */
  | { for: 'finality'; stage: 'safe' | 'finalized' }
  /** What used its nonce: that is being looked for, or only an operator can say it (`operator`). */
  | { for: 'evidence'; nonce: number | undefined }

/** Why a transaction is not further yet. */
export type WaitReason = WaitCause & {
  /** Wall time, in milliseconds since the epoch, since when it waits for this; noticed within a second or two. */
  sinceMs: number
  /** The same in plain English: one sentence. Its wording may change. */
  sentence: string
  /** Nothing but a person ends this wait: `resume()`, `resolve()`, or money for the account. */
  operator: boolean
}
