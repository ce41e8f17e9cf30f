import { TxlaneError } from '../errors/base.js'

/** P7: another process may have sent the transactions that the refused write was about. */
export function laneLost(): TxlaneError {
  return new TxlaneError('This process does not own the lease of the lane.', {
    code: 'LEASE_LOST',
    fate: 'inFlight',
  })
}

/** P7, for outboxes. */
export function outboxLost(): TxlaneError {
  return new TxlaneError('This process does not own the lease of the outbox.', {
    code: 'LEASE_LOST',
    fate: 'notExecuted',
  })
}
