import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import { type Fate, TxlaneError, type TxlaneErrorCode } from '../../errors/base.js'
import { REVERTED } from '../../validate/stageOrder.js'
import { describe, hasReached, revertCause, type Transaction } from './transaction.js'

/** An error about one transaction. */
export function txError(
  transaction: Transaction,
  code: TxlaneErrorCode,
  fate: Fate,
  message: string,
  cause?: unknown,
): TxlaneError {
  const { refusal, aboveCeiling } = transaction.notes ?? {}
  const details =
    [aboveCeiling && describeAboveCeiling(aboveCeiling), refusal].filter(Boolean).join(' ') || undefined
  return new TxlaneError(message, { code, fate, tx: describe(transaction), cause, details })
}

/** The fate of a transaction that has not ended. */
export function fateNow(transaction: Transaction): 'executed' | 'inFlight' {
  return hasReached(transaction, 'sealed') ? 'executed' : 'inFlight'
}

export function timeoutError(
  transaction: Transaction,
  timeoutMs: number,
  missing: MissingReceipt | undefined,
): TxlaneError {
  const message = `Not there after ${timeoutMs} ms.`
  const fate = fateNow(transaction)
  if (missing === undefined) return txError(transaction, 'WAIT_TIMEOUT', fate, message)
  return receiptError(
    transaction,
    'WAIT_TIMEOUT',
    `${message} It executed, and its receipt is missing.`,
    missing,
  )
}

export function noReceipt(transaction: Transaction, missing: MissingReceipt): TxlaneError {
  const { walkedBlock: block } = transaction
  const where = block === undefined ? '' : ` in block ${block.number}`
  const message = `It executed${where}, and no endpoint shows a receipt that fits.`
  return receiptError(transaction, 'NO_RECEIPT', message, missing)
}

function receiptError(
  transaction: Transaction,
  code: TxlaneErrorCode,
  message: string,
  { said }: MissingReceipt,
): TxlaneError {
  const details = [...said].map(([name, words]) => `${name}: ${words}`).join('; ')
  return new TxlaneError(message, { code, fate: 'executed', tx: describe(transaction), details })
}

export function revertedError(transaction: Transaction): TxlaneError {
  const { revertData } = transaction.record
  const cause = revertData && revertCause(REVERTED, revertData)
  return txError(transaction, 'REVERTED', 'executed', REVERTED, cause)
}

/** The endpoint reported that it does not have the tag. */
export function tagError(transaction: Transaction, stage: 'safe' | 'finalized'): TxlaneError {
  const message = `The endpoint has no ${stage} tag. Wait for 'sealed', or declare the option finality.`
  return txError(transaction, 'UNSUPPORTED', fateNow(transaction), message)
}

export function closedError(transaction: Transaction): TxlaneError {
  return txError(
    transaction,
    'CLOSED',
    fateNow(transaction),
    'The sender was closed. Journaled transactions may still execute.',
  )
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

/** A minimum that a node requires, above the ceiling of the offer; both in wei per unit of gas. */
export type AboveCeiling = { readonly neededWei: bigint; readonly ceilingWei: bigint }

/** Sentence for an error or a hold. */
export function describeAboveCeiling({ neededWei, ceilingWei }: AboveCeiling): string {
  return `The node takes no less than ${neededWei} wei for a unit of gas, and the ceiling is ${ceilingWei} wei.`
}
