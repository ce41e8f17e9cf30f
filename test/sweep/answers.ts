import type { Hex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../../src/errors/base.js'

/** An answer of the library about an id, as a child reports it: a line of JSON. */
export type Answer =
  /** `send` resolved: the transaction is in the store. For `allocated`, `commit` resolved. */
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

/** A report that answers no ask. */
export type Trouble = { readonly tell: 'trouble'; readonly message: string }

/** Any report of a child, about the library or about itself. */
export type AnyTell = { readonly tell: string }

const ANSWERS: ReadonlySet<string> = new Set<Answer['tell']>(['kept', 'sealed', 'failed', 'cancelled'])

// The call was refused, which says nothing about the transaction: it may be sent again under the same id.
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

/** True if the answer promises that the transaction never ran and never will (P5). */
export function saysEnded(tell: Answer): boolean {
  if (tell.tell === 'cancelled') return tell.result !== 'tooLate'
  return tell.tell === 'failed' && tell.fate === 'notExecuted' && !REFUSALS.has(tell.code)
}

export function saysExecuted(tell: Answer): boolean {
  if (tell.tell === 'cancelled') return tell.result === 'tooLate'
  return tell.tell === 'sealed' || (tell.tell === 'failed' && tell.fate === 'executed')
}

/** The kind under which an answer is counted. */
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
