import { invalid } from '../errors/invalid.js'
import type { LaneArrivals, ListOptions, StoredPage, StoredTransaction } from '../types/store.js'

/**
 * A page of arrivals from the first `limit` transactions and the first `limit` commands after a sequence. If
 * one of the lists is cut, the other ends at the same sequence, so that a reader that continues from the last
 * of both misses nothing.
 */
export function arrivalsPage(all: LaneArrivals, limit: number): LaneArrivals {
  const end = Math.min(endOf(all.transactions, limit), endOf(all.commands, limit))
  return {
    transactions: all.transactions.slice(0, limit).filter(({ sequence }) => sequence <= end),
    commands: all.commands.slice(0, limit).filter(({ sequence }) => sequence <= end),
  }
}

function endOf(list: readonly { readonly sequence: number }[], limit: number): number {
  return list.length < limit ? Number.POSITIVE_INFINITY : (list[limit - 1]?.sequence ?? 0)
}

/**
 * The sequence from which `arrivals` continues, for a lease owner that has loaded all transactions up to
 * `sequence`: not beyond the first command that an earlier owner has not executed. Entries above it arrive
 * again.
 */
export function arrivedUpTo(sequence: number, firstCommand: number | undefined): number {
  return firstCommand === undefined ? sequence : Math.min(sequence, firstCommand - 1)
}

/**
 * The position of a transaction in a list: by its creation time, then by its position in the order of arrival
 * of its first lane, which it keeps when it is handed off to another lane. Both may be equal; ids are unique.
 */
export type ListPlace = { readonly createdAtMs: number; readonly arrival: number; readonly id: string }

/** Below every position that a transaction with this time can have. */
const FIRST_ARRIVAL = -1
const ABOVE_ALL: ListPlace = {
  createdAtMs: Number.MAX_VALUE,
  arrival: Number.MAX_SAFE_INTEGER,
  id: '',
}

function listCursor({ createdAtMs, arrival, id }: ListPlace): string {
  return `${createdAtMs}:${arrival}:${id}`
}

/** @throws `INVALID` for a cursor that no list returned */
export function listPlace(cursor: string): ListPlace {
  const [, createdAtMs, arrival, id] = /^(-?\d{1,16}(?:\.\d{1,20})?):(-?\d{1,16}):(.*)$/s.exec(cursor) ?? []
  if (createdAtMs === undefined || arrival === undefined || id === undefined)
    throw invalid('cursor', cursor, 'the cursor of a page')
  return { createdAtMs: Number(createdAtMs), arrival: Number(arrival), id }
}

/** The bounds of a page: below the position, and created at the given time or later. */
export function listBounds({ cursor, createdAfterMs, createdBeforeMs }: Omit<ListOptions, 'limit'>): {
  readonly below: ListPlace
  readonly fromMs: number
} {
  const last = cursor === undefined ? ABOVE_ALL : listPlace(cursor)
  const isEarlier = createdBeforeMs !== undefined && createdBeforeMs <= last.createdAtMs
  const below = isEarlier ? { createdAtMs: createdBeforeMs, arrival: FIRST_ARRIVAL, id: '' } : last
  return { below, fromMs: createdAfterMs ?? -Number.MAX_VALUE }
}

/** The first `limit` rows. There is one row more if there is another page. */
export function listPage<row>(
  rows: readonly row[],
  limit: number,
  of: { readonly place: (row: row) => ListPlace; readonly transaction: (row: row) => StoredTransaction },
): StoredPage {
  const page = rows.slice(0, limit)
  const items = page.map(of.transaction)
  const last = page.at(-1)
  return rows.length > limit && last !== undefined ? { items, cursor: listCursor(of.place(last)) } : { items }
}

/** A sort order: the newest comes first. */
export function newestFirst(a: ListPlace, b: ListPlace): number {
  return b.createdAtMs - a.createdAtMs || b.arrival - a.arrival || compareText(b.id, a.id)
}

/** Compares as databases compare UTF-8, byte by byte, which is the order of code points. */
function compareText(a: string, b: string): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
