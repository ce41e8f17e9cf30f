import {
  AbiCoder,
  type CallExceptionError,
  type ErrorCode,
  type Interface,
  isError,
  makeError,
  type TransactionReceipt,
} from 'ethers'
import { type Fate, isTxlaneError, type TxlaneError } from '../errors/base.js'
import type { TxRequest } from '../types/index.js'

/**
 * The answer to "May I send it again?" for an error of a `LaneSigner`, of one of its contracts or of `wait`.
 * `notExecuted`: yes, it did not execute and never will. `inFlight`: no, it may still execute. `executed`:
 * no, it executed. Undefined for errors that concern no transaction: a failed `staticCall`, for example, or
 * arguments that do not fit the ABI, for which nothing was sent.
 *
 * Errors that ethers creates itself contain the corresponding `TxlaneError` as `error.info.error`, if there
 * is one; the result is its `fate`. `TIMEOUT` and a revert that `wait` found contain none; this function
 * recognises them too.
 *
 * Not guaranteed: a result for errors of another signer.
 *
 * @example
 * if (fateOf(error) === 'notExecuted') console.log('send it again')
 */
export function fateOf(error: unknown): Fate | undefined {
  if (isTxlaneError(error)) return error.fate
  const under = (error as { info?: { error?: unknown } } | null | undefined)?.info?.error
  if (isTxlaneError(under)) return under.fate
  if (isError(error, 'CALL_EXCEPTION')) return error.receipt ? 'executed' : undefined
  if (isError(error, 'TRANSACTION_REPLACED')) return error.cancelled ? undefined : 'executed'
  // The other timeouts concern requests, and name the operation.
  if (isError(error, 'TIMEOUT')) return error.shortMessage === WAIT_TIMEOUT ? 'inFlight' : undefined
  return undefined
}

// The text in ethers' TransactionResponse.wait (src.ts/providers/provider.ts).
const WAIT_TIMEOUT = 'wait for transaction timeout'

export type SendContext = {
  readonly request: TxRequest
  readonly from: string
  /** The interface that decodes custom errors. */
  readonly errors: Interface | undefined
}

/**
 * The error that ethers' own signers would have thrown, with the lane's error in it; without an equivalent
 * the error itself.
 */
export function sendError(error: unknown, context: SendContext): unknown {
  if (!isTxlaneError(error)) return error
  switch (error.code) {
    case 'PREPARE_REVERTED':
      return carrying(error, callException(error, context))
    case 'STARVED': {
      const message = 'insufficient funds for intrinsic transaction cost'
      return carrying(error, ethersError(message, 'INSUFFICIENT_FUNDS', { transaction: wireOf(context) }))
    }
    default:
      return endError(error)
  }
}

/** The reason why a transaction ended, as an ethers error if there is an equivalent. */
export function endError(error: unknown): unknown {
  if (!isTxlaneError(error)) return error
  switch (error.code) {
    case 'CANCELLED':
    case 'SUPERSEDED': {
      const reason = error.code === 'CANCELLED' ? 'cancelled' : 'replaced'
      // The transaction that took the nonce is not known here.
      const unknown = { replacement: null, hash: null, receipt: null }
      return carrying(
        error,
        ethersError('transaction was replaced', 'TRANSACTION_REPLACED', {
          cancelled: true,
          reason,
          ...unknown,
        }),
      )
    }
    default:
      return error
  }
}

/** The error for a contract whose address was computed from one nonce, but which was deployed at another. */
export function movedError(hash: string, receipt: TransactionReceipt): Error {
  const message = `the deployment landed at another nonce: the contract is at ${receipt.contractAddress}`
  return ethersError(message, 'TRANSACTION_REPLACED', {
    cancelled: false,
    reason: 'repriced',
    replacement: null,
    hash,
    receipt,
  })
}

function callException(error: TxlaneError, context: SendContext): CallExceptionError {
  const transaction = wireOf(context)
  const data = revertData(error)
  const decoded = data === null || data === '0x' ? undefined : context.errors?.makeError(data, transaction)
  if (decoded?.revert) return Object.assign(decoded, { action: 'estimateGas' as const })
  return AbiCoder.getBuiltinCallException('estimateGas', transaction, data)
}

function wireOf({ request, from }: SendContext): { to: string | null; from: string; data: string } {
  return { to: request.to ?? null, from, data: request.data ?? '0x' }
}

/** The revert data in the node's answer; null if the node gave none. */
function revertData(error: TxlaneError): string | null {
  let found: string | null = null
  error.walk((cause) => {
    found = hexOf((cause as { data?: unknown }).data) ?? found
    return found !== null
  })
  return found
}

function hexOf(data: unknown): string | undefined {
  if (typeof data === 'string') return /^0x([0-9a-f]{2})*$/i.test(data) ? data : undefined
  if (typeof data !== 'object' || data === null) return undefined
  // Hardhat and some gateways nest it one level deeper.
  return hexOf((data as { data?: unknown }).data)
}

function ethersError(message: string, code: ErrorCode, fields: object): Error {
  return makeError(message, code, fields as never)
}

/** Set after the construction, because the constructor arguments appear in the message. */
function carrying<error extends Error>(error: TxlaneError, made: error): error {
  return Object.assign(made, { info: { error }, cause: error })
}
