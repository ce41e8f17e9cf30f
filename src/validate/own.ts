import type { FeeChange, SendOptions, TxRequest } from '../types/index.js'
import { object } from './validate.js'

// Objects with a life of their own: who sends, and where.
const BY_REFERENCE: ReadonlySet<string> = new Set(['account', 'chain'])
// A list of lists of fields has three; what goes on and on is no request, and left as it is.
const DEPTH_MAX = 4

/**
 * The request as it stands at the moment of the call. The caller's object is the caller's: one that is filled anew for
 * the next call must not change what is sent by this one.
 *
 * @throws TxlaneError `INVALID` for what is no object
 */
export function ownRequest(request: TxRequest): TxRequest {
  return ownFields(object('request', request), DEPTH_MAX) as TxRequest
}

/** The same for the options of a call. A signal, and the transactions that it comes after, are what they are. */
export function ownOptions<options extends SendOptions>(options: options): options {
  const own = { ...(object('options', options) as options) }
  if (Array.isArray(own.after)) own.after = [...own.after]
  if (typeof own.effect === 'object' && own.effect !== null) own.effect = { ...own.effect }
  if (typeof own.expires === 'object' && own.expires !== null) own.expires = { ...own.expires }
  return own
}

/** The same for fees that are to change: whoever keeps the object may fill it anew. */
export function ownFees(change: FeeChange): FeeChange {
  return ownFields(change, DEPTH_MAX)
}

/** Spread, so that the copies of one kind have one shape; most fields are no objects. */
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
