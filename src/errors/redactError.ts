import { redactForeign, redactText } from './redact.js'
import { redactUrl } from './redactUrl.js'
import { isHarmless, isHashName, isSecretName, isUrlName, nameOf } from './secretWords.js'

/**
 * Wraps an error of an account's own code as the cause. That code knows the key, and may give its error the
 * name of ours.
 */
export class AccountFailure extends Error {
  override name = 'AccountFailure'

  constructor(cause: unknown) {
    super('The account could not sign.', { cause })
  }
}

// Sufficient for viem's longest chain (ContractFunctionExecutionError → … → HttpRequestError → cause), with a
// margin.
const DEPTH_MAX = 12
// Maximum number of copied values. An error may contain a node's answer of any size.
const VALUES_MAX = 2_000

// Properties that viem and ethers attach to errors, and that may contain a URL, a key, headers or a whole
// request. `client`, `account` and similar objects do not help to understand a failure and may contain
// secrets.
const DROPPED = new Set(['client', 'account', 'headers', 'request', 'transport', 'privateKey', 'body'])

type RedactErrorOptions = {
  /** True if the failing code knows a private key. Then no 32 bytes of hex count as a hash. */
  readonly knowsKey?: boolean | undefined
}

/** A safe form of any thrown value: our own error unchanged, a redacted copy of any other. */
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

/** The place of a value: its key and its depth. The items of a list have the key of the list. */
type Place = { readonly key: string; readonly depth: number }

/**
 * Copies an error and its causes without credentials (see `redactForeign`): messages, meta messages,
 * properties, property names and stacks. Prototypes, names, codes and revert data are kept, so `instanceof`
 * and viem's `walk` still work.
 */
export function redactError(error: unknown, { knowsKey = false }: RedactErrorOptions = {}): unknown {
  const copying: Copying = {
    hashes: knowsKey ? 'never' : 'named',
    seen: new Map(),
    left: { values: VALUES_MAX },
  }
  return copy(error, { key: '', depth: 0 }, copying)
}

function copy(value: unknown, place: Place, copying: Copying): unknown {
  if (--copying.left.values < 0) return undefined
  if (typeof value === 'string') return copyText(value, place.key, copying)
  if (typeof value === 'bigint') return copying.hashes === 'never' && isLong(value) ? undefined : value
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  const { seen } = copying
  if (seen.has(value)) return seen.get(value)
  if (place.depth > DEPTH_MAX) return undefined
  if (value instanceof URL) return redactUrl(value.href)
  if (Array.isArray(value)) return copyArray(value, place, copying)
  if (Object.prototype.toString.call(value) === '[object DOMException]')
    return copyDomException(value as Error, copying)
  if (value instanceof Error || isPlain(value)) return copyObject(value, place, ownWords(value, copying))
  // Responses, sockets and buffers are dropped: their content is not needed, and may be unsafe.
  return undefined
}

const LONG_BITS = 128n

/** Larger than any amount or count. */
const isLong = (value: bigint): boolean => value >> LONG_BITS !== 0n && -value >> LONG_BITS !== 0n

function copyText(text: string, key: string, { hashes }: Copying): string {
  const name = nameOf(key)
  if (isSecretName(name)) return isHarmless(text) ? text : '<redacted>'
  if (isPlaceName(name) && /[/@?]/.test(text)) return redactUrl(text)
  if (/^0x[0-9a-f]*$/i.test(text) && hashes !== 'never' && !isSigned(text)) {
    // Revert data stay, because they are decoded from the copy.
    if (text.length !== HASH_CHARS || isHashName(name) || isDataName(name)) return text
  }
  return hashes === 'all' ? redactText(text) : redactForeign(text, hashes)
}

// `input` is set by Node's error for an invalid URL.
const isPlaceName = (name: string): boolean => isUrlName(name) || name === 'input'

const isDataName = (name: string): boolean => /(?:data|args|raw|topics)$/.test(name)

const HASH_CHARS = 66

/**
 * True for a transaction envelope: a list (RLP) of exactly its stated length, with or without a type prefix
 * (EIP-2718).
 */
function isSigned(hex: string): boolean {
  const from = /^0x0[1-7]/.test(hex) ? 4 : 2
  const first = Number.parseInt(hex.slice(from, from + 2), 16)
  if (!(first > 0xf7)) return false
  const lengthChars = 2 * (first - 0xf7)
  const bytes = Number.parseInt(hex.slice(from + 2, from + 2 + lengthChars), 16)
  return bytes * 2 === hex.length - from - 2 - lengthChars
}

/**
 * Our own errors were redacted on creation, by the rule for our own text. An error of code that knows a key
 * gets no such exemption, because it may only use our name.
 */
function ownWords(value: object, copying: Copying): Copying {
  return isOwn(value) && copying.hashes !== 'never' ? { ...copying, hashes: 'all' } : copying
}

/** Its getters check their receiver, so a copy with the same prototype would throw when read. */
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
  // Mnemonic words, or bytes of a key, which are harmless one by one.
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
    // Getters are not called, because they may run any code. `stack` is the exception (some V8 versions make
    // it a getter).
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
