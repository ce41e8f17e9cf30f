import { isTxlaneError, TxlaneError } from '../errors/base.js'
import type { Slot, SlotState } from '../ledger/slot.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { LaneKey, LaneReport, StoredTransaction, Wish } from '../types/store.js'

/** Rises when a reader of today could not read what is written from then on. */
const FORMAT = 1

type Kind = 'slot' | 'transaction' | 'wish' | 'report' | 'delivery'

/** How each body is told from garbage, and from one of another kind. */
const LOOKS_RIGHT: Record<Kind, (body: Record<string, unknown>) => boolean> = {
  slot: ({ state, nonce, attempts }) =>
    typeof state === 'string' && STATES.has(state) && Number.isSafeInteger(nonce) && Array.isArray(attempts),
  transaction: ({ id, stage, sequence, lane, request }) =>
    typeof id === 'string' &&
    typeof stage === 'string' &&
    Number.isSafeInteger(sequence) &&
    isObject(lane) &&
    isObject(request),
  wish: ({ kind }) => typeof kind === 'string' && WISHES.has(kind),
  report: ({ holds }) => Array.isArray(holds),
  delivery: ({ id, count, tries }) =>
    typeof id === 'string' && Number.isSafeInteger(count) && Number.isSafeInteger(tries),
}

const WISHES: ReadonlySet<string> = new Set<Wish['kind']>(['cancel', 'abort', 'speedUp', 'resolve'])

const STATES: ReadonlySet<string> = new Set<SlotState>([
  'hole',
  'reserved',
  'outside',
  'live',
  'used',
  'final',
])

// A client's own objects: they are the sender's to name again, and hold functions, which nothing can keep.
const NOT_KEPT: ReadonlySet<string> = new Set(['account', 'chain', 'nonceManager'])

type Unset = {
  [field in keyof StoredTransaction as Record<never, never> extends Pick<StoredTransaction, field>
    ? never
    : undefined extends StoredTransaction[field]
      ? field
      : never]: undefined
}

// What a transaction has not got is not written, which halves the work, and is put back when it is read.
const UNSET: Unset = {
  gas: undefined,
  feeCeiling: undefined,
  expiresAtMs: undefined,
  replaces: undefined,
  needs: undefined,
  nonce: undefined,
  hash: undefined,
  status: undefined,
  failure: undefined,
}
const UNSET_FIELDS: readonly string[] = Object.keys(UNSET)

/**
 * What a store keeps of a slot, a transaction, a wish, a report or a delivery: one line of ASCII-safe JSON that keeps bigints and undefined
 * as they are. Of a request, the account and the chain are left out.
 *
 * @throws `INVALID` for what cannot be kept, a function say
 */
export function encodeBody(value: Slot | StoredTransaction | Wish | LaneReport | StoredDelivery): string {
  if ('tries' in value) return envelope('delivery', value)
  if ('state' in value) return envelope('slot', value)
  if ('holds' in value) return envelope('report', value)
  if ('kind' in value) return envelope('wish', value)
  return `{"v":${FORMAT},"transaction":${writtenTransaction(value)}}`
}

/** @throws `STORE` for what is no slot, or was written in a format of another version */
export function decodeSlot(text: string): Slot {
  return opened('slot', text) as Slot
}

/** @throws `STORE` for what is no transaction, or was written in a format of another version */
export function decodeTransaction(text: string): StoredTransaction {
  const transaction = opened('transaction', text) as StoredTransaction & Record<string, unknown>
  // In place: a copy takes three times as long as all the rest.
  for (const field of UNSET_FIELDS) if (transaction[field] === undefined) transaction[field] = undefined
  return transaction
}

/** @throws `STORE` for what is no wish, or was written in a format of another version */
export function decodeWish(text: string): Wish {
  return opened('wish', text) as Wish
}

/** @throws `STORE` for what is no report, or was written in a format of another version */
export function decodeReport(text: string): LaneReport {
  return opened('report', text) as LaneReport
}

/** @throws `STORE` for what is no delivery, or was written in a format of another version */
export function decodeDelivery(text: string): StoredDelivery {
  return opened('delivery', text) as StoredDelivery
}

function envelope(kind: Kind, body: object): string {
  return `{"v":${FORMAT},"${kind}":${written(body, kind)}}`
}

const TRANSACTION: Place = { at: 'transaction', above: undefined }
const REQUEST: Place = { at: 'request', above: TRANSACTION }

function writtenTransaction(transaction: StoredTransaction): string {
  let text = ''
  for (const [field, value] of Object.entries(transaction)) {
    if (value === undefined) continue
    const kept =
      field === 'lane'
        ? writtenLane(transaction.lane)
        : field === 'request'
          ? writtenObject(value as object, REQUEST, NOT_KEPT)
          : written(value, field, TRANSACTION)
    text += `${text === '' ? '{' : ','}${quoted(field)}:${kept}`
  }
  return `${text}}`
}

// One object for all transactions of a lane.
const lanes = new WeakMap<LaneKey, string>()

function writtenLane(lane: LaneKey): string {
  const known = lanes.get(lane)
  if (known !== undefined) return known
  const text = written(lane, 'lane', TRANSACTION)
  lanes.set(lane, text)
  return text
}

function opened(kind: Kind, text: string): unknown {
  const { v, [kind]: body } = parsed(kind, text)
  if (v !== FORMAT) {
    throw broken(`A ${kind} is kept in format ${shown(v)}; this version of txlane reads format ${FORMAT}.`)
  }
  const value = guarded(kind, () => unpacked(body))
  if (!isObject(value) || !LOOKS_RIGHT[kind](value)) throw broken(`What is kept is no ${kind}.`)
  return value
}

function parsed(kind: Kind, text: string): Record<string, unknown> {
  const value: unknown = guarded(kind, () => JSON.parse(text))
  if (!isObject(value)) throw broken(`What is kept is no ${kind}.`)
  return value
}

// A parser's own message quotes what it read: signed bytes, say.
function guarded<T>(kind: Kind, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isTxlaneError(error) ? error : broken(`What is kept is no ${kind}: it cannot be read.`)
  }
}

function broken(message: string): TxlaneError {
  return new TxlaneError(message, { code: 'STORE', fate: 'inFlight' })
}

function shown(version: unknown): string {
  return Number.isSafeInteger(version) ? String(version) : 'unknown'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * JSON has no word for some values: an object whose only key begins with `$` stands for each. Text is made at once,
 * without a tree in between: this runs several times for each transaction.
 */
function written(value: unknown, at: string | number, above?: Place): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return String(value)
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? String(value) : `{"$number":"${named(value)}"}`
    case 'bigint':
      return `{"$bigint":"${value}"}`
    case 'undefined':
      return '{"$undefined":0}'
    case 'object':
      return value === null ? 'null' : writtenObject(value, { at, above })
    default:
      throw unkept({ at, above }, `a ${typeof value}`)
  }
}

/** Where in a body a value stands: put into words only where it cannot be kept. */
type Place = { readonly at: string | number; readonly above: Place | undefined }

/** -0 has a name of its own, unlike in `String`. */
function named(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function writtenObject(value: object, target: Place, leftOut?: ReadonlySet<string>): string {
  if (Array.isArray(value)) return `[${value.map((item, index) => written(item, index, target)).join(',')}]`
  if (value instanceof Map) {
    const entries = [...value].map(
      ([key, item]) => `[${written(key, 'key', target)},${written(item, 'value', target)}]`,
    )
    return `{"$map":[${entries.join(',')}]}`
  }
  if (!isPlain(value)) throw unkept(target, 'an instance of a class')
  const fields = value as Readonly<Record<string, unknown>>
  let text = ''
  for (const key of Object.keys(value)) {
    if (leftOut?.has(key)) continue
    // Such a key would be taken for one that stands for something else.
    if (key.startsWith('$') || key === '__proto__') return writtenEntries(fields, target, leftOut)
    text += `${text === '' ? '{' : ','}${quoted(key)}:${written(fields[key], key, target)}`
  }
  return text === '' ? '{}' : `${text}}`
}

function writtenEntries(
  fields: Readonly<Record<string, unknown>>,
  target: Place,
  leftOut?: ReadonlySet<string>,
): string {
  const entries = Object.keys(fields)
    .filter((key) => !leftOut?.has(key))
    .map((key) => `[${quoted(key)},${written(fields[key], key, target)}]`)
  return `{"$object":[${entries.join(',')}]}`
}

// The names of fields are few, and each is written many thousand times.
const names = new Map<string, string>()
const NAMES_MAX = 500

function quoted(key: string): string {
  const known = names.get(key)
  if (known !== undefined) return known
  const text = JSON.stringify(key)
  if (names.size < NAMES_MAX) names.set(key, text)
  return text
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // A plain object of another realm (a test runner's, say) has that realm's prototype, which has none above it.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function unkept(target: Place, what: string): TxlaneError {
  return new TxlaneError(`${nameOf(target)} cannot be kept: it is ${what}.`, {
    code: 'INVALID',
    fate: 'notExecuted',
  })
}

function nameOf({ at, above }: Place): string {
  if (above === undefined) return String(at)
  return typeof at === 'number' ? `${nameOf(above)}[${at}]` : `${nameOf(above)}.${at}`
}

/** In place: what the parser made is nobody else's, and this runs several times for each transaction. */
function unpacked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(unpacked)
  const fields = value as Record<string, unknown>
  const keys = Object.keys(fields)
  const [first = ''] = keys
  if (keys.length === 1 && first.startsWith('$')) return meant(first, fields[first])
  for (const key of keys) {
    const item = fields[key]
    // An assignment to `__proto__` would change what it is; no field of ours is written by that name.
    if (typeof item === 'object' && item !== null && key !== '__proto__') fields[key] = unpacked(item)
  }
  return fields
}

function meant(tag: string, content: unknown): unknown {
  switch (tag) {
    case '$bigint':
      return BigInt(content as string)
    case '$undefined':
      return undefined
    case '$number':
      return Number(content)
    case '$map':
      return new Map((content as [unknown, unknown][]).map(([key, item]) => [unpacked(key), unpacked(item)]))
    case '$object':
      return Object.fromEntries((content as [string, unknown][]).map(([key, item]) => [key, unpacked(item)]))
    default:
      throw broken('What is kept holds a kind of value that this version of txlane does not know.')
  }
}
