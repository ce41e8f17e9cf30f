import { TxlaneError } from '../../errors/base.js'
import { describe, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { ANSWERS_MAX } from './answers.js'

export function refused(transaction: Transaction, cause: Error, said: string): TxlaneError {
  const message = `The node refuses to run the transaction before it is sent, ${ANSWERS_MAX} times in the same words.`
  const tx = describe(transaction)
  return new TxlaneError(message, { code: 'PREPARE_REVERTED', fate: 'notExecuted', tx, cause, details: said })
}

export function unanswered(transaction: Transaction, cause: Error): TxlaneError {
  return txError(transaction, 'REJECTED', 'notExecuted', 'The gas estimate got no usable answer.', cause)
}

export function noPrivateWay(transaction: Transaction): TxlaneError {
  const message = "It is private, and there is no 'send' endpoint."
  return txError(transaction, 'INVALID', 'notExecuted', message)
}

export function reverts(transaction: Transaction, cause: Error): TxlaneError {
  const message = 'The transaction reverts when it is run before it is sent.'
  return txError(transaction, 'PREPARE_REVERTED', 'notExecuted', message, cause)
}

export function cannotPay(transaction: Transaction, cause: Error): TxlaneError {
  return txError(transaction, 'STARVED', 'notExecuted', 'The account cannot pay for it.', cause)
}
