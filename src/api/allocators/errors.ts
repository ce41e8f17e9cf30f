import { TxlaneError } from '../../errors/base.js'

export function abortedError(): TxlaneError {
  return new TxlaneError('The reservation was aborted.', { code: 'ABORTED', fate: 'notExecuted' })
}

export function closedError(): TxlaneError {
  return new TxlaneError('The allocator is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}
