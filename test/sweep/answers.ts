import type { Hex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../../src/errors/base.js'

/** An answer of the library about an id, as a child reports it: a line of JSON. */
export type Answer =
  /** `send` resolved: the transaction is in the store. For `allocated`, `commit` resolved. */
  | { readonly report: 'kept'; readonly id: string }
  | {
      readonly report: 'sealed'
      readonly id: string
      readonly hash: Hex
      readonly nonce: number
      readonly status: string
    }
  | {
      readonly report: 'failed'
      readonly id: string
      readonly code: TxlaneErrorCode
      readonly fate: Fate
      readonly message: string
    }
  | {
      readonly report: 'cancelled'
      readonly id: string
      readonly result: 'removed' | 'cancelled' | 'tooLate'
    }

/** A report that answers no ask. */
export type Trouble = { readonly report: 'trouble'; readonly message: string }

/** Any report of a child, about the library or about itself. */
export type AnyReport = { readonly report: string }

const ANSWERS: ReadonlySet<string> = new Set<Answer['report']>(['kept', 'sealed', 'failed', 'cancelled'])

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

export function isAnswer(report: AnyReport): report is Answer {
  return ANSWERS.has(report.report)
}

/** True if the answer promises that the transaction never ran and never will (P5). */
export function saysEnded(report: Answer): boolean {
  if (report.report === 'cancelled') return report.result !== 'tooLate'
  return report.report === 'failed' && report.fate === 'notExecuted' && !REFUSALS.has(report.code)
}

export function saysExecuted(report: Answer): boolean {
  if (report.report === 'cancelled') return report.result === 'tooLate'
  return report.report === 'sealed' || (report.report === 'failed' && report.fate === 'executed')
}

/** The kind under which an answer is counted. */
export function kindOf(report: Answer): string {
  switch (report.report) {
    case 'kept':
      return 'kept'
    case 'sealed':
      return `sealed, ${report.status}`
    case 'failed':
      return `${report.code}, ${report.fate}`
    case 'cancelled':
      return `cancel: ${report.result}`
    default:
      return report satisfies never
  }
}
