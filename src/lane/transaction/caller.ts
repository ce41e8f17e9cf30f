import type { SendOptions, TxRequest } from '../../types/index.js'
import type { Transaction } from './transaction.js'

/** Where it goes, other than to the end of the line. */
export type AdmissionTarget = {
  /** To the nonce of this one. */
  readonly replaces?: Transaction | undefined
  /** After the one with this id, as the next of a sequence. */
  readonly follows?: string | undefined
  /** Any account of a pool may send it. */
  readonly pooled?: true | undefined
}

/** Who asked for a transaction: one of these is told, once. No promise, as there is one for every `send` already. */
export type Caller = {
  /** It is kept in the store; or the one that stands there under its id, with what became of that. */
  readonly kept: (transaction: Transaction) => void
  readonly failed: (error: unknown) => void
}

type Add = (request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller) => void

/** To the end of the line. */
export const DEFAULT_TARGET: AdmissionTarget = {}

/** For who awaits it: resolves once it is kept in the store. */
export function added(
  add: Add,
  request: TxRequest,
  options: SendOptions,
  target: AdmissionTarget = DEFAULT_TARGET,
): Promise<Transaction> {
  return new Promise((kept, failed) => add(request, options, target, { kept, failed }))
}
