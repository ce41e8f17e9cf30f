import type { TxlaneError } from '../../errors/base.js'
import { mayRestart } from '../../store/ended.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'

/**
 * The error for an id whose transaction ended without execution. `tx` says how it ended, the cause says why.
 */
export function endedError(ended: Transaction): TxlaneError {
  const { id, stage, failure } = ended
  const how = failure === undefined ? '' : ` (${failure.code}: ${failure.shortMessage})`
  const next = mayRestart(stage)
    ? 'It did not execute. With `again: true` it begins anew under this id.'
    : 'Its replacement took its place: look at that one.'
  const message = `The transaction with the id ${JSON.stringify(id)} was sent before, and ended: it is ${stage}${how}. ${next}`
  return txError(ended, 'ENDED', 'notExecuted', message, failure)
}
