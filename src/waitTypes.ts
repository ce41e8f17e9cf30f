import type { Address, Chain, GetTransactionReceiptReturnType, Hash } from 'viem'
import type { Fate, TxlaneErrorCode } from './errors/base.js'
import type { HoldReason } from './laneTypes.js'
import type { Stage, WaitStage } from './types.js'

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
  /** Whether it reverted; missing before a receipt or the records of the lane tell. */
  status?: 'success' | 'reverted'
  /** Why it ended without executing. */
  error?: {
    /** What happened. */
    code: TxlaneErrorCode
    /** Whether it may be sent again. */
    fate: Fate
    /** In a sentence. */
    message: string
  }
  /** The gas limit of its attempts, as decimal digits; missing before it is known. */
  gas?: string
  /** What the newest attempt offers for a unit of gas, in wei as decimal digits; missing before the first signature. */
  fees?: { gasPrice: string } | { maxFeePerGas: string; maxPriorityFeePerGas: string }
  /** The id of the transaction whose nonce it is to take. */
  replaces?: string
  /** When it was taken on, by the wall clock of the process that did. */
  createdAt: string
  /** Why it is not further yet, in a sentence. */
  waitingFor?: string
}

type LandedBase = {
  /** Of the transaction that landed, as `Tx.id`. */
  id: string
  /** The account's nonce that it used. */
  nonce: number
  /** Of the attempt that the block has: bumps give one transaction several. */
  hash: Hash
}

/**
 * What `wait` resolves with. Before the block is sealed the status and the receipt may be unknown: not every
 * endpoint serves receipts of pre-confirmed transactions.
 */
export type Landed<chain extends Chain = Chain> = LandedBase &
  (
    | {
        /** The endpoint's `pending` block has it, and no sealed one. */
        stage: 'preconfirmed'
        /** Missing where the endpoint shows no receipt before the block is sealed. */
        status?: 'success' | 'reverted'
        /** `null` where the endpoint shows none yet; its block has no hash. */
        receipt: (Omit<GetTransactionReceiptReturnType<chain>, 'blockHash'> & { blockHash: null }) | null
      }
    | {
        /** The stage that it had come to, which may be above the one waited for. */
        stage: Exclude<WaitStage, 'preconfirmed'>
        /** As in the receipt. A reverted transaction has executed and is paid for. */
        status: 'success' | 'reverted'
        /** As viem gives it, for the chain of the client. */
        receipt: GetTransactionReceiptReturnType<chain>
      }
  )

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
