import { TxlaneError } from '../../errors/base.js'

/** The error of a closed lane as a whole. The transactions that it had in flight may still execute. */
export function closedLaneError(): TxlaneError {
  return new TxlaneError('The sender was closed. What was journaled may still execute.', {
    code: 'CLOSED',
    fate: 'inFlight',
  })
}
