import { AccountFailure } from './accountFailure.js'
import { redactForeign, redactText, redactUrl } from './redact.js'
import { isHarmless, isHashName, isSecretName, isUrlName, nameOf } from './secretWords.js'

// Deep enough for viem's longest chain (ContractFunctionExecutionError → … → HttpRequestError → cause) with room.
const DEPTH_MAX = 12
// An answer of a node may hang on an error: however large it is, so much of it is copied.
const VALUES_MAX = 2_000

// What viem and ethers hang on their errors that may carry a URL, a key, headers or a whole request. `client`,
// `account` and the like are not needed to understand a failure and may hold secrets.
const DROPPED = new Set(['client', 'account', 'headers', 'request', 'transport', 'privateKey', 'body'])

type RedactErrorOptions = {
  /** Who failed knows a private key: no 32 bytes of hex are taken for a hash. */
  readonly knowsKey?: boolean | undefined
}

/** What is told of whatever was thrown: ours as it is, a copy of anything else. */
export function safeError(error: unknown): Error {
  if (error instanceof AccountFailure) return redactError(errorOf(error.cause), { knowsKey: true }) as Error
  return isOwn(error) ? error : (redactError(errorOf(error)) as Error)
}

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

function isOwn(value: unknown): value is Error {
  return value instanceof Error && value.name === 'TxlaneError' && 'fate' in value
}

type Copying = {
  readonly hashes: 'all' | 'named' | 'never'
  readonly seen: Map<object, unknown>
  readonly left: { values: number }
}

/** Where a value stands: under which key, and how deep. What a list holds stands under the key of the list. */
type Place = { readonly key: string; readonly depth: number }

/**
 * A copy of an error and of its causes without credentials: see `redactForeign`, for messages, meta messages,
 * properties, their names and stacks. Prototypes, names, codes and revert data are kept, so `instanceof` and viem's
 * `walk` answer as before.
 */
export function redactError(error: unknown, { knowsKey = false }: RedactErrorOptions = {}): unknown {
  const copying: Copying = {
    hashes: knowsKey ? 'never' : 'named',
    seen: new Map(),
    left: { values: VALUES_MAX },
  }
  return copy(error, { key: '', depth: 0 }, copying)
}

function copy(value: unknown, target: Place, copying: Copying): unknown {
  if (--copying.left.values < 0) return undefined
  if (typeof value === 'string') return copyText(value, target.key, copying)
  if (typeof value === 'bigint') return copying.hashes === 'never' && isLong(value) ? undefined : value
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  const { seen } = copying
  if (seen.has(value)) return seen.get(value)
  if (target.depth > DEPTH_MAX) return undefined
  if (value instanceof URL) return redactUrl(value.href)
  if (Array.isArray(value)) return copyArray(value, target, copying)
  if (Object.prototype.toString.call(value) === '[object DOMException]')
    return copyDomException(value as Error, copying)
  if (value instanceof Error || isPlain(value)) return copyObject(value, target, ownWords(value, copying))
  // Responses, sockets, buffers: what they hold is neither needed nor known to be safe.
  return undefined
}

const LONG_BITS = 128n

/** No amount, and no number of anything that is counted. */
const isLong = (value: bigint): boolean => value >> LONG_BITS !== 0n && -value >> LONG_BITS !== 0n

function copyText(text: string, key: string, { hashes }: Copying): string {
  const name = nameOf(key)
  if (isSecretName(name)) return isHarmless(text) ? text : '<redacted>'
  if (isPlaceName(name) && /[/@?]/.test(text)) return redactUrl(text)
  if (/^0x[0-9a-f]*$/i.test(text) && hashes !== 'never' && !isSigned(text)) {
    // Revert data are decoded from the copy.
    if (text.length !== HASH_CHARS || isHashName(name) || isDataName(name)) return text
  }
  return hashes === 'all' ? redactText(text) : redactForeign(text, hashes)
}

// `input`: Node's error for a URL that cannot be read.
const isPlaceName = (name: string): boolean => isUrlName(name) || name === 'input'

const isDataName = (name: string): boolean => /(?:data|args|raw|topics)$/.test(name)

const HASH_CHARS = 66

/** The envelope of a transaction: a list (RLP) that is as long as it says, behind a type or without one (EIP-2718). */
function isSigned(hex: string): boolean {
  const from = /^0x0[1-7]/.test(hex) ? 4 : 2
  const first = Number.parseInt(hex.slice(from, from + 2), 16)
  if (!(first > 0xf7)) return false
  const lengthChars = 2 * (first - 0xf7)
  const bytes = Number.parseInt(hex.slice(from + 2, from + 2 + lengthChars), 16)
  return bytes * 2 === hex.length - from - 2 - lengthChars
}

/** Ours were redacted when they were made, by the rule for our own words. Who knows a key may only call its error so. */
function ownWords(value: object, copying: Copying): Copying {
  return isOwn(value) && copying.hashes !== 'never' ? { ...copying, hashes: 'all' } : copying
}

/** Its getters check what they are called on, so a copy that shares its prototype throws on reading. */
function copyDomException({ name, message }: Error, { hashes }: Copying): Error {
  const result = new Error(hashes === 'all' ? redactText(message) : redactForeign(message, hashes))
  result.name = name
  return result
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const LIST_MIN = 12

function copyArray(value: readonly unknown[], { key, depth }: Place, copying: Copying): unknown[] {
  const result: unknown[] = []
  copying.seen.set(value, result)
  // Words of a mnemonic and bytes of a key, each of which is harmless alone.
  if (copying.hashes === 'never' && value.length >= LIST_MIN) return result
  for (const item of value) {
    if (copying.left.values <= 0) break
    result.push(copy(item, { key, depth: depth + 1 }, copying))
  }
  return result
}

function copyObject(value: object, { depth }: Place, copying: Copying): object {
  const result: object = Object.create(Object.getPrototypeOf(value) as object | null)
  copying.seen.set(value, result)
  for (const key of Object.getOwnPropertyNames(value)) {
    if (copying.left.values <= 0) break
    if (DROPPED.has(key)) continue
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    // A getter may run anything; only `stack` is one worth calling (V8 makes it one on some versions).
    if (descriptor === undefined || (!('value' in descriptor) && key !== 'stack')) continue
    const own = (value as Record<string, unknown>)[key]
    Object.defineProperty(result, redactForeign(key, 'never'), {
      value: copy(own, { key, depth: depth + 1 }, copying),
      enumerable: descriptor.enumerable ?? false,
      configurable: true,
      writable: true,
    })
  }
  return result
}
