import type { FeeChange, SendOptions, TxRequest } from '../types/index.js'
import { object } from './validate.js'

// Objects that are not copied: accounts and chains.
const BY_REFERENCE: ReadonlySet<string> = new Set(['account', 'chain'])
// A list of lists of fields has three levels. A deeper object is no request, and is not copied.
const DEPTH_MAX = 4

/**
 * Copies the request at the moment of the call. A caller may reuse its object for the next call, which must not change the
 * transaction of this one.
 *
 * @throws TxlaneError `INVALID` if the request is no object
 */
export function ownRequest(request: TxRequest): TxRequest {
  return ownFields(object('request', request), DEPTH_MAX) as TxRequest
}

/** Copies the options of a call, but not its signal and the transactions in `after`. */
export function ownOptions<options extends SendOptions>(options: options): options {
  const own = { ...(object('options', options) as options) }
  if (Array.isArray(own.after)) own.after = [...own.after]
  if (typeof own.effect === 'object' && own.effect !== null) own.effect = { ...own.effect }
  if (typeof own.expires === 'object' && own.expires !== null) own.expires = { ...own.expires }
  return own
}

/** Copies a change of fees, because a caller may reuse its object. */
export function ownFees(change: FeeChange): FeeChange {
  return ownFields(change, DEPTH_MAX)
}

/** Object spread gives the copies of one kind one hidden class; most fields are no objects. */
function ownFields(fields: object, depth: number): object {
  const own: Record<string, unknown> = { ...fields }
  for (const key in own) {
    const value = own[key]
    if (typeof value === 'object' && value !== null && !BY_REFERENCE.has(key))
      own[key] = ownValue(value, depth - 1)
  }
  return own
}

function ownValue(value: unknown, depth: number): unknown {
  if (depth < 0) return value
  if (Array.isArray(value)) return value.map((one) => ownValue(one, depth - 1))
  return isPlain(value) ? ownFields(value, depth) : value
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
