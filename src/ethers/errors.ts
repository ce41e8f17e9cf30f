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
 * "May I send it again?", asked of an error of a `LaneSigner`, of one of its contracts or of `wait`: `notExecuted` yes,
 * it never ran and never will; `inFlight` no, it may still run; `executed` no, it ran. Undefined for errors that are
 * about no transaction: a failed `staticCall`, say, or arguments that do not fit the ABI, which nothing was sent for.
 *
 * Errors that ethers makes itself carry the `TxlaneError` they stand for as `error.info.error`, where there is one: the
 * answer is its `fate`. There is none under `TIMEOUT` and a revert that `wait` found; this function knows them too.
 *
 * Not guaranteed: an answer for errors of another signer.
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
  // The other ones are about requests, and name the operation.
  if (isError(error, 'TIMEOUT')) return error.shortMessage === WAIT_TIMEOUT ? 'inFlight' : undefined
  return undefined
}

// In ethers' TransactionResponse.wait (src.ts/providers/provider.ts).
const WAIT_TIMEOUT = 'wait for transaction timeout'

export type SendContext = {
  readonly request: TxRequest
  readonly from: string
  /** Where custom errors are looked up. */
  readonly errors: Interface | undefined
}

/** What ethers' own signers would have thrown, with the lane's error in it; else the error itself. */
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

/** Why a transaction ended, in ethers' words where ethers has words for it. */
export function endError(error: unknown): unknown {
  if (!isTxlaneError(error)) return error
  switch (error.code) {
    case 'CANCELLED':
    case 'SUPERSEDED': {
      const reason = error.code === 'CANCELLED' ? 'cancelled' : 'replaced'
      // What took the nonce is the lane's own business: nothing of it is known here.
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

/** A contract that was to have the address of one nonce, and was made at another. */
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

/** What the contract reverted with, from the node's answer; null where the node did not say. */
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
  // Hardhat and some gateways put it a level deeper.
  return hexOf((data as { data?: unknown }).data)
}

function ethersError(message: string, code: ErrorCode, fields: object): Error {
  return makeError(message, code, fields as never)
}

/** Set afterwards: what it is made with stands in its message. */
function carrying<error extends Error>(error: TxlaneError, made: error): error {
  return Object.assign(made, { info: { error }, cause: error })
}
