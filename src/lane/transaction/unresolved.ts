import type { TxlaneError } from '../../errors/base.js'
import type { Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import type { Transaction } from './transaction.js'
import { txError } from './txError.js'
import { rejectWaiters } from './waiters.js'

/**
 * No process can determine whether it executed. Waiters are rejected, and `unresolved` is emitted because an
 * operator has to decide.
 */
export function reportUnresolved(
  { events, txOf }: { readonly events: Emitter; readonly txOf: (transaction: Transaction) => Tx },
  transaction: Transaction,
): void {
  rejectWaiters(transaction, unresolvedError(transaction))
  events.emit('unresolved', { nonce: transaction.nonce ?? -1, tx: txOf(transaction) })
}

/** The operator's `resolve` ends it. */
export function unresolvedError(transaction: Transaction): TxlaneError {
  return txError(
    transaction,
    'UNRESOLVED',
    'inFlight',
    'Its nonce is used, and the endpoint no longer shows by which transaction: it may have executed. Look it up and call resolve().',
  )
}
