import { isTxlaneError, TxlaneError } from '../errors/base.js'
import type { Slot, SlotState } from '../ledger/slot.js'
import type { LaneReport } from '../types/laneReports.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { LaneCommand, LaneKey, StoredTransaction } from '../types/store.js'

type Kind = 'slot' | 'transaction' | 'command' | 'report' | 'delivery'

/** Increased when the readers of the former version could not read the new format. */
const FORMAT = 1
const SLOT_FORMAT = 2
const DELIVERY_FORMAT = 2

/** The fields of a slot that had other names in format 1. */
const SLOT_FIELDS_1: Readonly<Record<string, string>> = {
  nudged: 'resentSinceSigned',
  underbids: 'replacementRejections',
  wasSettled: 'settledBefore',
}

/** The fields of a delivery that had other names in format 1. Its state `delivered` was called `told` as well. */
const DELIVERY_FIELDS_1: Readonly<Record<string, string>> = { told: 'delivered' }

/** The stored names of the kinds. Commands keep their former name, so that a process of the former version reads them. */
const STORED_AS: Readonly<Record<Kind, string>> = {
  slot: 'slot',
  transaction: 'transaction',
  command: 'wish',
  report: 'report',
  delivery: 'delivery',
}

/** Recognises a body of each kind among garbage and bodies of other kinds. */
const LOOKS_RIGHT: Record<Kind, (body: Record<string, unknown>) => boolean> = {
  slot: ({ state, nonce, attempts }) =>
    typeof state === 'string' && STATES.has(state) && Number.isSafeInteger(nonce) && Array.isArray(attempts),
  transaction: ({ id, stage, sequence, lane, request }) =>
    typeof id === 'string' &&
    typeof stage === 'string' &&
    Number.isSafeInteger(sequence) &&
    isObject(lane) &&
    isObject(request),
  command: ({ kind }) => typeof kind === 'string' && COMMANDS.has(kind),
  report: ({ holds }) => Array.isArray(holds),
  delivery: ({ id, count, tries }) =>
    typeof id === 'string' && Number.isSafeInteger(count) && Number.isSafeInteger(tries),
}

const COMMANDS: ReadonlySet<string> = new Set<LaneCommand['kind']>(['cancel', 'abort', 'speedUp', 'resolve'])

const STATES: ReadonlySet<string> = new Set<SlotState>([
  'hole',
  'reserved',
  'outside',
  'live',
  'used',
  'final',
])

// A client's own objects. The sender supplies them again, and they contain functions, which cannot be stored.
const NOT_KEPT: ReadonlySet<string> = new Set(['account', 'chain', 'nonceManager'])

type Unset = {
  [field in keyof StoredTransaction as Record<never, never> extends Pick<StoredTransaction, field>
    ? never
    : undefined extends StoredTransaction[field]
      ? field
      : never]: undefined
}

// Undefined fields of a transaction are not written, which halves the work. They are restored when it is
// read.
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
 * The body that a store keeps of a slot, a transaction, a command, a report or a delivery: one line of
 * ASCII-safe JSON that preserves bigints and undefined. The account and the chain of a request are left out.
 *
 * @throws `INVALID` for a value that cannot be stored, for example a function
 */
export function encodeBody(
  value: Slot | StoredTransaction | LaneCommand | LaneReport | StoredDelivery,
): string {
  if ('tries' in value) return envelope('delivery', value, DELIVERY_FORMAT)
  if ('state' in value) return envelope('slot', value, SLOT_FORMAT)
  if ('holds' in value) return envelope('report', value)
  if ('kind' in value) return envelope('command', value)
  return `{"v":${FORMAT},"transaction":${writtenTransaction(value)}}`
}

/** @throws `STORE` if the text is no slot, or is in the format of another version */
export function decodeSlot(text: string): Slot {
  return opened('slot', text, SLOT_FORMAT, upgradedSlot) as Slot
}

/** @throws `STORE` if the text is no transaction, or is in the format of another version */
export function decodeTransaction(text: string): StoredTransaction {
  const transaction = opened('transaction', text) as StoredTransaction & Record<string, unknown>
  // In place, because a copy takes three times as long as all other steps.
  for (const field of UNSET_FIELDS) if (transaction[field] === undefined) transaction[field] = undefined
  return transaction
}

/** @throws `STORE` if the text is no command, or is in the format of another version */
export function decodeCommand(text: string): LaneCommand {
  return opened('command', text) as LaneCommand
}

/** @throws `STORE` if the text is no report, or is in the format of another version */
export function decodeReport(text: string): LaneReport {
  return opened('report', text) as LaneReport
}

/** @throws `STORE` if the text is no delivery, or is in the format of another version */
export function decodeDelivery(text: string): StoredDelivery {
  return opened('delivery', text, DELIVERY_FORMAT, upgradedDelivery) as StoredDelivery
}

function envelope(kind: Kind, body: object, format = FORMAT): string {
  return `{"v":${format},"${STORED_AS[kind]}":${written(body, kind)}}`
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

// All transactions of a lane share one key object.
const lanes = new WeakMap<LaneKey, string>()

function writtenLane(lane: LaneKey): string {
  const known = lanes.get(lane)
  if (known !== undefined) return known
  const text = written(lane, 'lane', TRANSACTION)
  lanes.set(lane, text)
  return text
}

/** `upgrade`: makes a body of the format before `format` one of `format`. Without it, that format is not read. */
function opened(
  kind: Kind,
  text: string,
  format = FORMAT,
  upgrade?: (body: Record<string, unknown>) => Record<string, unknown>,
): unknown {
  const { v, [STORED_AS[kind]]: body } = parsed(kind, text)
  const isFormer = upgrade !== undefined && v === format - 1
  if (v !== format && !isFormer)
    throw broken(`The stored ${kind} has format ${shown(v)}; this version of txlane reads format ${format}.`)
  const read = guarded(kind, () => unpacked(body))
  const value = isFormer && isObject(read) ? upgrade(read) : read
  if (!isObject(value) || !LOOKS_RIGHT[kind](value)) throw broken(`The stored text is no ${kind}.`)
  return value
}

function upgradedSlot(slot: Record<string, unknown>): Record<string, unknown> {
  return withNames(slot, SLOT_FIELDS_1)
}

function upgradedDelivery(delivery: Record<string, unknown>): Record<string, unknown> {
  const state = delivery.state === 'told' ? 'delivered' : delivery.state
  return { ...withNames(delivery, DELIVERY_FIELDS_1), state }
}

function withNames(
  body: Record<string, unknown>,
  names: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).map(([field, value]) => [names[field] ?? field, value]))
}

function parsed(kind: Kind, text: string): Record<string, unknown> {
  const value: unknown = guarded(kind, () => JSON.parse(text))
  if (!isObject(value)) throw broken(`The stored text is no ${kind}.`)
  return value
}

// The parser's own message is dropped: it quotes its input, which may be signed bytes.
function guarded<T>(kind: Kind, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isTxlaneError(error) ? error : broken(`The stored text is no ${kind}: it cannot be read.`)
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
 * Encodes a value. Values that JSON lacks become an object whose only key begins with `$`. The text is made
 * directly, without an intermediate tree, because this runs several times for each transaction.
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

/** The path of a value in a body. It is formatted only for the error of a value that cannot be stored. */
type Place = { readonly at: string | number; readonly above: Place | undefined }

/** `String` does not distinguish -0. */
function named(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function writtenObject(value: object, place: Place, leftOut?: ReadonlySet<string>): string {
  if (Array.isArray(value)) return `[${value.map((item, index) => written(item, index, place)).join(',')}]`
  if (value instanceof Map) {
    const entries = [...value].map(
      ([key, item]) => `[${written(key, 'key', place)},${written(item, 'value', place)}]`,
    )
    return `{"$map":[${entries.join(',')}]}`
  }
  if (!isPlain(value)) throw unkept(place, 'an instance of a class')
  const fields = value as Readonly<Record<string, unknown>>
  let text = ''
  for (const key of Object.keys(value)) {
    if (leftOut?.has(key)) continue
    // Such a key would be read as one of the encodings.
    if (key.startsWith('$') || key === '__proto__') return writtenEntries(fields, place, leftOut)
    text += `${text === '' ? '{' : ','}${quoted(key)}:${written(fields[key], key, place)}`
  }
  return text === '' ? '{}' : `${text}}`
}

function writtenEntries(
  fields: Readonly<Record<string, unknown>>,
  place: Place,
  leftOut?: ReadonlySet<string>,
): string {
  const entries = Object.keys(fields)
    .filter((key) => !leftOut?.has(key))
    .map((key) => `[${quoted(key)},${written(fields[key], key, place)}]`)
  return `{"$object":[${entries.join(',')}]}`
}

// There are few field names, and each is written many thousand times.
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
  // A plain object of another realm (a test runner's, for example) has that realm's Object prototype, whose
  // own prototype is null.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function unkept(place: Place, what: string): TxlaneError {
  return new TxlaneError(`${nameOf(place)} cannot be stored: it is ${what}.`, {
    code: 'INVALID',
    fate: 'notExecuted',
  })
}

function nameOf({ at, above }: Place): string {
  if (above === undefined) return String(at)
  return typeof at === 'number' ? `${nameOf(above)}[${at}]` : `${nameOf(above)}.${at}`
}

/**
 * In place, because no other code has the parsed object, and this runs several times for each transaction.
 */
function unpacked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(unpacked)
  const fields = value as Record<string, unknown>
  const keys = Object.keys(fields)
  const [first = ''] = keys
  if (keys.length === 1 && first.startsWith('$')) return meant(first, fields[first])
  for (const key of keys) {
    const item = fields[key]
    // An assignment to `__proto__` would replace the prototype. No field of ours has that name.
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
      throw broken('The stored text contains a kind of value that this version of txlane does not know.')
  }
}
