import type { Hash } from 'viem'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { decodeTransaction } from '../codec.js'
import { LEASES_AHEAD_MAX } from '../leaseTime.js'
import type { Database } from './database.js'
import type { Row } from './driver.js'

/** The parts that all store methods share. */
export type Context = {
  readonly database: Database
  /** The name of the schema, in quotes. */
  readonly schema: string
  /** The channel on which watchers are notified. */
  readonly channel: string
  readonly retentionMs: number
}

/** A lane's key as the first three parameters of a statement. */
export function nameOf(lane: LaneKey): [number, Hash, string] {
  return [lane.chainId, lane.genesisHash, lane.address]
}

/** The sequence comes from its column, because the body was written before the sequence was known. */
export function transactionOf(row: Row): StoredTransaction {
  // In place, because no other code has the object yet, and a copy costs as much as reading it.
  return Object.assign(decodeTransaction(String(row.body)), { sequence: Number(row.sequence) })
}

// A list is sent as one text that the server splits. The driver would escape each item of an array
// separately, which costs more than all other parts of a write.

/**
 * A list of numbers, booleans, our own names and hashes; `listed` in the statement. A missing hash is an
 * empty string.
 */
export function list(items: readonly (number | boolean | string)[]): string {
  return items.join(',')
}

/** A list of bodies, which are one line each; `lined` in the statement. */
export function lines(bodies: readonly string[]): string {
  return bodies.join('\n')
}

/** Two parameters: the creation times and the groups. */
export function listedValuesOf(transactions: readonly StoredTransaction[]): unknown[] {
  const groups = transactions.map(({ group }) => group ?? null)
  // Most transactions have no group.
  return [
    list(transactions.map(({ createdAtMs }) => createdAtMs)),
    groups.some((one) => one !== null) ? groups : null,
  ]
}

export const listed = (parameter: string, type: 'bigint' | 'boolean' | 'double precision' | 'text') =>
  `string_to_array(${parameter}::text, ',', '')::${type}[]`

export const lined = (parameter: string) => `string_to_array(${parameter}::text, E'\\n')`

/**
 * Conditions on the columns `holder`, `epoch`, `expires_at` and `lease_ms` of the row `of`, a lane or an
 * outbox. The server's clock may have been set back, and after a failover it is a different clock, so a lease
 * that ends too far in the future counts as expired (`leaseTime.ts`).
 */
const tooFarAhead = (of: string) =>
  `clock_timestamp() + ${LEASES_AHEAD_MAX} * ${of}.lease_ms * interval '1 millisecond'`

export const isHeld = (of: string) =>
  `(${of}.holder IS NOT NULL AND ${of}.expires_at > clock_timestamp() AND ${of}.expires_at <= ${tooFarAhead(of)})`

/** True if the owner in this parameter may take the lease. */
export const mayTake = (of: string, holder: string) =>
  `(${of}.holder IS NULL OR ${of}.holder = ${holder} OR ${of}.expires_at <= clock_timestamp()
          OR ${of}.expires_at > ${tooFarAhead(of)})`

/** Sets the lease to last this many milliseconds from now. */
export const lasts = (ttlMs: string) => `lease_ms = ${ttlMs}::double precision,
        expires_at = clock_timestamp() + ${ttlMs}::double precision * interval '1 millisecond'`

/**
 * Gives the lease to the owner in this parameter: with a new epoch, or with the same one if it already owns
 * it.
 */
export const taken = (of: string, holder: string, ttlMs: string) =>
  `epoch = CASE WHEN ${of}.holder = ${holder} THEN ${of}.epoch ELSE ${of}.epoch + 1 END,
        holder = ${holder},
        ${lasts(ttlMs)}`
