import { type Hash, stringToBytes } from 'viem'
import type { TxlaneError } from '../../errors/base.js'
import { hashOf } from '../../platform/hash.js'
import type { TxRequest } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import { fateOf, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'

/**
 * Placeholder for a transaction with a generated id, until a caller uses that id. Otherwise each `send` would
 * compute a hash in vain.
 */
export const NO_FINGERPRINT: Hash = `0x${'0'.repeat(64)}`

/**
 * Hash of the content that an id stands for: the call that the caller wants, without the price paid for it.
 */
export function fingerprintOf(from: string, request: TxRequest): Hash {
  const { to, data, value, accessList, authorize } = wantedBy(request)
  return hashOf(stringToBytes(textOf([from, to, data, value, accessList, authorize])))
}

type Known = Pick<StoredTransaction, 'fingerprint' | 'private' | 'request' | 'lane'>

/**
 * Whether the id stands for the same request. If any account of a pool may send it, the account does not
 * count. A public transaction cannot be made private by sending it again.
 */
export function isSameRequest(known: Known, asked: Known & Pick<StoredTransaction, 'pooled'>): boolean {
  const print = asked.pooled ? fingerprintOf(known.lane.address, asked.request) : printOf(asked)
  return printOf(known) === print && !isOpen(known, asked)
}

function printOf({ fingerprint, lane, request }: Known): Hash {
  return fingerprint === NO_FINGERPRINT ? fingerprintOf(lane.address, request) : fingerprint
}

/**
 * Builds `ID_CONFLICT`, which names each differing field and has the transaction of the id as `tx`. If only
 * the account differs, the request itself may have been executed, so the fate is that of the transaction.
 */
export function idConflict(known: Transaction, asked: Transaction): TxlaneError {
  const id = JSON.stringify(known.id)
  const fields = differences(known, asked)
  if (fields.length > 0)
    return txError(
      known,
      'ID_CONFLICT',
      'notExecuted',
      `The id ${id} stands for another request: ${fields.join('; ')}.`,
    )
  return txError(
    known,
    'ID_CONFLICT',
    fateOf(known),
    `The id ${id} stands for the same request from the account ${known.lane.address}: it is ${known.stage}.`,
  )
}

/** The differences of two requests, except the account. */
function differences(known: Transaction, asked: Transaction): string[] {
  const [was, is] = [wantedBy(known.request), wantedBy(asked.request)]
  const fields = FIELDS.filter((field) => textOf(was[field]) !== textOf(is[field]))
  return [
    ...fields.map((field) => `${field} is ${shown(is[field])} here, and ${shown(was[field])} there`),
    ...(isOpen(known.record, asked.record) ? ['it is private here, and was sent openly'] : []),
  ]
}

const FIELDS = ['to', 'data', 'value', 'accessList', 'authorize'] as const

/** The fields that count, normalised for the comparison. */
function wantedBy({ to, data, value, accessList, authorize }: TxRequest) {
  return {
    to: to?.toLowerCase() ?? null,
    data: data ?? '0x',
    value: value ?? 0n,
    accessList: accessList ?? null,
    authorize:
      authorize?.map((one) => [one.contractAddress.toLowerCase(), one.account?.address.toLowerCase()]) ??
      null,
  }
}

function isOpen(known: Pick<Known, 'private'>, asked: Pick<Known, 'private'>): boolean {
  return known.private !== true && asked.private === true
}

const SHOWN_CHARS_MAX = 66

/** Shortened, because calldata and lists may be long. */
function shown(value: unknown): string {
  const text = value === null ? 'none' : typeof value === 'string' ? value : textOf(value)
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}

function textOf(value: unknown): string {
  return typeof value === 'bigint'
    ? `${value}`
    : JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part))
}
