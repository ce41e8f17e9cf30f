import { isTxlaneError, type TxlaneError } from '../errors/base.js'

/** The `details` of a `STORE` error whose cause is `isReplaced`. */
export const REPLACED = 'replaced'

/**
 * True if the open records of a store are not the records that other processes see: its file was deleted,
 * moved or replaced while it was open. Nothing was read or written.
 */
export function isReplaced(error: unknown): error is TxlaneError {
  return isTxlaneError(error) && error.code === 'STORE' && error.details === REPLACED
}
