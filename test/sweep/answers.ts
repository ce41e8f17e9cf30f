import type { Hex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../../src/errors/base.js'

/** What the library said of an id, as a child tells it: a line of JSON. */
export type Answer =
  /** `send` resolved: it is in the store. For `allocated`, `commit` did. */
  | { readonly tell: 'kept'; readonly id: string }
  | {
      readonly tell: 'sealed'
      readonly id: string
      readonly hash: Hex
      readonly nonce: number
      readonly status: string
    }
  | {
      readonly tell: 'failed'
      readonly id: string
      readonly code: TxlaneErrorCode
      readonly fate: Fate
      readonly message: string
    }
  | {
      readonly tell: 'cancelled'
      readonly id: string
      readonly result: 'removed' | 'cancelled' | 'tooLate'
    }

/** Something that is no answer to any ask. */
export type Trouble = { readonly tell: 'trouble'; readonly message: string }

/** Whatever a child tells, of the library or of itself. */
export type AnyTell = { readonly tell: string }

const ANSWERS: ReadonlySet<string> = new Set<Answer['tell']>(['kept', 'sealed', 'failed', 'cancelled'])

// The call was refused, which says nothing of the transaction: it may be asked for again under the same id.
const REFUSALS: ReadonlySet<TxlaneErrorCode> = new Set([
  'LEASE_LOST',
  'QUEUE_FULL',
  'STORE',
  'CLOSED',
  'INVALID',
  'UNSUPPORTED',
  'CHAIN_MISMATCH',
])

export function isAnswer(tell: AnyTell): tell is Answer {
  return ANSWERS.has(tell.tell)
}

/** It was told that the transaction never ran and never will (P5). */
export function saysEnded(tell: Answer): boolean {
  if (tell.tell === 'cancelled') return tell.result !== 'tooLate'
  return tell.tell === 'failed' && tell.fate === 'notExecuted' && !REFUSALS.has(tell.code)
}

export function saysExecuted(tell: Answer): boolean {
  if (tell.tell === 'cancelled') return tell.result === 'tooLate'
  return tell.tell === 'sealed' || (tell.tell === 'failed' && tell.fate === 'executed')
}

/** The kind of an answer, under which it is counted. */
export function kindOf(tell: Answer): string {
  switch (tell.tell) {
    case 'kept':
      return 'kept'
    case 'sealed':
      return `sealed, ${tell.status}`
    case 'failed':
      return `${tell.code}, ${tell.fate}`
    case 'cancelled':
      return `cancel: ${tell.result}`
    default:
      return tell satisfies never
  }
}
