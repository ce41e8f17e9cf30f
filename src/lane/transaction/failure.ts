import { BaseError, type Hex, isHex, RpcRequestError } from 'viem'
import { DATA_CHARS_MAX } from '../../chain/endpoints/calls.js'
import { type ErrorTx, TxlaneError } from '../../errors/base.js'
import type { StoredFailure } from '../../types/store.js'

const DETAILS_CHARS_MAX = 1_000

/** The stored form of the error with which a transaction ended. */
export function storedFailure(error: TxlaneError): StoredFailure {
  const { code, shortMessage: message, details } = error
  const data = revertDataOf(error)
  return {
    code,
    message,
    ...(details ? { details: details.slice(0, DETAILS_CHARS_MAX) } : {}),
    ...(data === undefined ? {} : { data }),
  }
}

/**
 * Rebuilds the error from its stored form. Its cause contains the revert data, as viem's decoders expect.
 */
export function failureFrom({ code, message, details, data }: StoredFailure, tx: ErrorTx): TxlaneError {
  const cause = data && revertCause(details ?? message, data)
  return new TxlaneError(message, { code, fate: 'notExecuted', tx, ...(cause ? { cause } : { details }) })
}

/** An error that contains the revert data in the place where viem's decoders expect it. */
export function revertCause(message: string, data: Hex): Error {
  return new RpcRequestError({ body: {}, error: { code: 3, message, data }, url: 'redacted' })
}

function revertDataOf(error: TxlaneError): Hex | undefined {
  const holder: unknown = error.walk((one) => one instanceof Error && 'data' in one && isHex(one.data))
  const { data } = (holder instanceof BaseError ? holder : {}) as { readonly data?: Hex }
  return data !== undefined && data.length > 2 && data.length <= DATA_CHARS_MAX ? data : undefined
}
