import { type Fate, TxlaneError, type TxlaneErrorCode } from '../../errors/base.js'
import { sayDear } from './dear.js'
import { describe, type Transaction } from './transaction.js'

/** An error about one transaction. */
export function txError(
  transaction: Transaction,
  code: TxlaneErrorCode,
  fate: Fate,
  message: string,
  cause?: unknown,
): TxlaneError {
  const { refusal, dear } = transaction
  const details = [dear && sayDear(dear), refusal].filter(Boolean).join(' ') || undefined
  return new TxlaneError(message, { code, fate, tx: describe(transaction), cause, details })
}
