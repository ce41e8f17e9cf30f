import { isTxlaneError, TxlaneError } from '../errors/base.js'

/** The `details` of a `STORE` error whose cause is `isReplaced`. */
export const REPLACED = 'replaced'

/**
 * The records that a store works on are not those that other processes find: a file that was deleted, moved or replaced
 * while it was open. Nothing was read or written.
 */
export function isReplaced(error: unknown): error is TxlaneError {
  return isTxlaneError(error) && error.code === 'STORE' && error.details === REPLACED
}

/** P7, for outboxes. */
export function outboxLost(): TxlaneError {
  return new TxlaneError('Another process delivers under this name.', {
    code: 'LEASE_LOST',
    fate: 'notExecuted',
  })
}
