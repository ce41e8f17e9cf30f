import type { HoldReason, SenderEvents, Stage, WaitCause } from '../types/index.js'

/** The format name in the header of a recording. */
export const RECORDING_FORMAT = 'txlane-recording'

/**
 * Major and minor version. A minor version adds events or fields, which older readers ignore. A major version
 * changes existing ones.
 */
export const RECORDING_VERSION = '1.0'

/**
 * Lines that the recorder writes about itself. Each line has the wall time in milliseconds and an event name.
 */
export type RecorderLine = {
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
} & (
  | {
      /** The first line of each run of the recorder, and of each file after a rotation. */
      readonly event: 'recording'
      /** The format of the file. */
      readonly format: typeof RECORDING_FORMAT
      /** The version of the format: major and minor. */
      readonly version: string
      /** The version of the package that wrote it. */
      readonly package: string
      /** The start of this run of the recorder, in wall time. */
      readonly startedAt: number
    }
  | {
      /** From here on the file contains the events of this lane. */
      readonly event: 'following'
      /** `chainId:address`, as in each event. */
      readonly lane: string
      /** The lane's chain. */
      readonly chainId: number
      /** The lane's account. */
      readonly address: string
    }
  /** This many events are missing here, because the buffer was full. */
  | { readonly event: 'dropped'; readonly count: number }
  /** The recorder was closed. A run without this line was killed. */
  | { readonly event: 'closed' }
)

/**
 * An attempt, written once, with the first event after it was signed. Fees are wei per gas, as decimal
 * digits.
 */
export type RecordedAttempt = {
  /** The nonce in the signed transaction. */
  readonly nonce: number
  /** The hash of the signed transaction. */
  readonly hash: string
  /** Set for a legacy transaction. */
  readonly gasPrice?: string
  /** Set for all other types. */
  readonly maxFeePerGas?: string
  /** Set for all other types. */
  readonly maxPriorityFeePerGas?: string
}

/** An error, without its stack and causes. */
export type RecordedError = {
  /** `TxlaneError`, or the name of a foreign error. */
  readonly name: string
  /** Set for a `TxlaneError`. */
  readonly code?: string
  /** Set for a `TxlaneError`: whether the transaction may be sent again. */
  readonly fate?: string
  /** The short message: without keys and bytes, and only the origin of URLs. */
  readonly message: string
}

/** The optional fields of an event, beside its time, its name and its lane. */
export type EventFields = {
  /** The id of the transaction. */
  readonly id?: string
  /** The stage of the transaction. */
  readonly stage?: Stage
  /** The nonce that the event is about. */
  readonly nonce?: number
  /** The hash of the transaction's newest attempt, or of the transaction that used the nonce. */
  readonly hash?: string
  /** Attempts that no earlier line contains. */
  readonly attempts?: readonly RecordedAttempt[]
  /**
   * For `held` and `released`: the hold. For `endpoint`: a sentence with the answer, and the fact that
   * contradicts it.
   */
  readonly reason?: HoldReason | (string & {})
  /** For `held`: a sentence with the reading that caused the hold, and the event that lifts it. */
  readonly detail?: string
  /** The number of times that the transaction has lost its nonce. */
  readonly times?: number
  /** The unusable answer of an endpoint. */
  readonly said?: string
  /** The kind of reason for which the transaction waits. */
  readonly waitingFor?: WaitCause['for']
  /** The origin of the endpoint's URL. */
  readonly endpoint?: string
  /** The role of the endpoint: `both`, `read` or `send`. */
  readonly role?: string
  /** The kind of change at the endpoint. */
  readonly change?: string
  /** The epoch of the lease that was gained or lost. */
  readonly epoch?: number
  /** True if another process, or an earlier run, owned the lease before. */
  readonly takeover?: boolean
  /** The error that ended the transaction, or the failure. */
  readonly error?: RecordedError
}

/** One event of a sender. `lane` is `chainId:address`, so that each line is self-contained. */
export type EventLine = {
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  /** The event name, as in `sender.on`. */
  readonly event: keyof SenderEvents
  /** `chainId:address`. */
  readonly lane: string
} & EventFields

/** Any line of a recording. */
export type RecordingLine = RecorderLine | EventLine
