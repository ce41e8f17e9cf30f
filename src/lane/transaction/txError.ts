import { type Fate, TxlaneError, type TxlaneErrorCode } from '../../errors/base.js'
import { describeAboveCeiling } from './dear.js'
import { describe, type Transaction } from './transaction.js'

/** An error about one transaction. */
export function txError(
  transaction: Transaction,
  code: TxlaneErrorCode,
  fate: Fate,
  message: string,
  cause?: unknown,
): TxlaneError {
  const { refusal, aboveCeiling } = transaction.notes ?? {}
  const details =
    [aboveCeiling && describeAboveCeiling(aboveCeiling), refusal].filter(Boolean).join(' ') || undefined
  return new TxlaneError(message, { code, fate, tx: describe(transaction), cause, details })
}
