import type { HoldReason, SenderEvents, Stage, WaitCause } from '../types/index.js'

/** What the header of a recording says it is. */
export const RECORDING_FORMAT = 'txlane-recording'

/**
 * Major and minor. A minor one adds events or fields, which older readers leave out; a major one changes what is there.
 */
export const RECORDING_VERSION = '1.0'

/** Lines that the recorder writes of itself. Each line has the wall time in milliseconds and the name of an event. */
export type RecorderLine = {
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
} & (
  | {
      /** The first line of each life of the recorder, and of each file that it goes on in. */
      readonly event: 'recording'
      /** What kind of file this is. */
      readonly format: typeof RECORDING_FORMAT
      /** Of the format: major and minor. */
      readonly version: string
      /** Version of the package that wrote it. */
      readonly package: string
      /** When this life of the recorder began, in wall time. */
      readonly startedAt: number
    }
  | {
      /** From here on the events of this lane are in the file. */
      readonly event: 'following'
      /** `chainId:address`, as in each event. */
      readonly lane: string
      /** The lane's chain. */
      readonly chainId: number
      /** The lane's account. */
      readonly address: string
    }
  /** So many events are missing here: the buffer was full. */
  | { readonly event: 'dropped'; readonly count: number }
  /** The recorder was closed. A life without it was cut off. */
  | { readonly event: 'closed' }
)

/** An attempt, told once: with the first event after it was signed. Fees are wei per gas, as decimal text. */
export type RecordedAttempt = {
  /** The nonce that it was signed for. */
  readonly nonce: number
  /** Of the signed transaction. */
  readonly hash: string
  /** Of a legacy transaction. */
  readonly gasPrice?: string
  /** Of any other. */
  readonly maxFeePerGas?: string
  /** Of any other. */
  readonly maxPriorityFeePerGas?: string
}

/** An error, without its stack and causes. */
export type RecordedError = {
  /** `TxlaneError`, or the name of a foreign one. */
  readonly name: string
  /** Of a `TxlaneError`. */
  readonly code?: string
  /** Of a `TxlaneError`: whether the transaction may be sent again. */
  readonly fate?: string
  /** The short message: no URL beyond its origin, no key, no bytes. */
  readonly message: string
}

/** What an event may carry besides its time, its name and its lane. */
export type EventFields = {
  /** Of the transaction. */
  readonly id?: string
  /** How far the transaction had come. */
  readonly stage?: Stage
  /** The nonce that the event is about. */
  readonly nonce?: number
  /** Of the transaction's newest attempt, or of what used the nonce. */
  readonly hash?: string
  /** Attempts that no line before tells of. */
  readonly attempts?: readonly RecordedAttempt[]
  /** Of `held` and `released`, the hold. Of `endpoint`, a sentence: what was answered, and what contradicts it. */
  readonly reason?: HoldReason | (string & {})
  /** Of `held`, a sentence: what was read, and what lifts the hold. */
  readonly detail?: string
  /** How often the transaction has lost its nonce. */
  readonly times?: number
  /** What an endpoint said whose answers are of no use. */
  readonly said?: string
  /** What the transaction waits for. */
  readonly waitingFor?: WaitCause['for']
  /** Origin of its URL. */
  readonly endpoint?: string
  /** Of the endpoint: `both`, `read` or `send`. */
  readonly role?: string
  /** What changed at the endpoint. */
  readonly change?: string
  /** Of the lease that was gained or lost. */
  readonly epoch?: number
  /** Somebody else had the lane before. */
  readonly takeover?: boolean
  /** Why it ended, or what failed. */
  readonly error?: RecordedError
}

/** One event of a sender. `lane` is `chainId:address`, so that each line stands by itself. */
export type EventLine = {
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  /** As in `sender.on`. */
  readonly event: keyof SenderEvents
  /** `chainId:address`. */
  readonly lane: string
} & EventFields

/** Any line of a recording. */
export type RecordingLine = RecorderLine | EventLine
