import { redactText, redactUrl } from './redact.js'

// Deep enough for viem's longest chain (ContractFunctionExecutionError → … → HttpRequestError → cause) with room.
const DEPTH_MAX = 12

// What viem and ethers hang on their errors that may carry a URL, a key, headers or a whole request. `client`,
// `account` and the like are not needed to understand a failure and may hold secrets.
const DROPPED = new Set(['client', 'account', 'headers', 'request', 'transport', 'privateKey', 'body'])

/**
 * A copy of an error and of its causes without credentials: every URL cut to its origin in messages, meta
 * messages, properties and stacks. Prototypes, names, codes and revert data are kept, so `instanceof` and viem's
 * `walk` answer as before.
 */
export function redactError(error: unknown): unknown {
  return copy(error, 0, new Map())
}

function copy(value: unknown, depth: number, seen: Map<object, unknown>): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  if (seen.has(value)) return seen.get(value)
  if (depth > DEPTH_MAX) return undefined
  if (value instanceof URL) return redactUrl(value.href)
  if (Array.isArray(value)) return copyArray(value, depth, seen)
  if (Object.prototype.toString.call(value) === '[object DOMException]')
    return copyDomException(value as Error)
  if (value instanceof Error || isPlain(value)) return copyObject(value, depth, seen)
  // Responses, sockets, buffers: what they hold is neither needed nor known to be safe.
  return undefined
}

/** Its getters check what they are called on, so a copy that shares its prototype throws on reading. */
function copyDomException({ name, message }: Error): Error {
  const result = new Error(redactText(message))
  result.name = name
  return result
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function copyArray(value: readonly unknown[], depth: number, seen: Map<object, unknown>): unknown[] {
  const result: unknown[] = []
  seen.set(value, result)
  for (const item of value) result.push(copy(item, depth + 1, seen))
  return result
}

function copyObject(value: object, depth: number, seen: Map<object, unknown>): object {
  const result: object = Object.create(Object.getPrototypeOf(value) as object | null)
  seen.set(value, result)
  for (const key of Object.getOwnPropertyNames(value)) {
    if (DROPPED.has(key)) continue
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    // A getter may run anything; only `stack` is one worth calling (V8 makes it one on some versions).
    if (descriptor === undefined || (!('value' in descriptor) && key !== 'stack')) continue
    const own = (value as Record<string, unknown>)[key]
    Object.defineProperty(result, key, {
      value: copy(own, depth + 1, seen),
      enumerable: descriptor.enumerable ?? false,
      configurable: true,
      writable: true,
    })
  }
  return result
}
