import { TxlaneError } from '../../errors/base.js'

/** The error for every wait on a closed lane. Transactions that the lane had in flight may still execute. */
export function closedLaneError(): TxlaneError {
  return new TxlaneError('The sender was closed. Journaled transactions may still execute.', {
    code: 'CLOSED',
    fate: 'inFlight',
  })
}
