import type { HoldReason, SenderEvents, Stage, WaitCause } from '../types.js'

/** What the header of a recording says it is. */
export const RECORDING_FORMAT = 'txlane-recording'

/**
 * Major and minor. A minor one adds events or fields, which older readers leave out; a major one changes what is there.
 */
export const RECORDING_VERSION = '1.0'

/** Lines that the recorder writes of itself. Each line has the wall time in milliseconds and the name of an event. */
export type RecorderLine = { readonly at: number } & (
  | {
      /** The first line of each life of the recorder, and of each file that it goes on in. */
      readonly event: 'recording'
      readonly format: typeof RECORDING_FORMAT
      readonly version: string
      readonly package: string
      readonly startedAt: number
    }
  | {
      /** From here on the events of this lane are in the file. */
      readonly event: 'following'
      readonly lane: string
      readonly chainId: number
      readonly address: string
    }
  /** So many events are missing here: the buffer was full. */
  | { readonly event: 'dropped'; readonly count: number }
  /** The recorder was closed. A life without it was cut off. */
  | { readonly event: 'closed' }
)

/** An attempt, told once: with the first event after it was signed. Fees are wei per gas, as decimal text. */
export type RecordedAttempt = {
  readonly nonce: number
  readonly hash: string
  readonly gasPrice?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
}

export type RecordedError = {
  readonly name: string
  readonly code?: string
  readonly fate?: string
  /** The short message: no URL beyond its origin, no key, no bytes. */
  readonly message: string
}

/** What an event may carry besides its time, its name and its lane. */
export type EventFields = {
  readonly id?: string
  readonly stage?: Stage
  readonly nonce?: number
  readonly hash?: string
  readonly attempts?: readonly RecordedAttempt[]
  /** Of `held` and `released`, the hold. Of `endpoint`, a sentence: what was answered, and what contradicts it. */
  readonly reason?: HoldReason | (string & {})
  /** Of `held`, a sentence: what was read, and what lifts the hold. */
  readonly detail?: string
  /** How often the transaction has lost its nonce. */
  readonly times?: number
  /** What an endpoint said whose answers are of no use. */
  readonly said?: string
  readonly waitingFor?: WaitCause['for']
  /** Origin of its URL. */
  readonly endpoint?: string
  readonly role?: string
  readonly change?: string
  readonly epoch?: number
  readonly error?: RecordedError
}

/** One event of a sender. `lane` is `chainId:address`, so that each line stands by itself. */
export type EventLine = {
  readonly at: number
  readonly event: keyof SenderEvents
  readonly lane: string
} & EventFields

export type RecordingLine = RecorderLine | EventLine
