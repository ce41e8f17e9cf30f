import { invalid } from '../errors/invalid.js'
import type { LaneArrivals, ListOptions, StoredPage, StoredTransaction } from '../types/store.js'

/**
 * A page of arrivals from the first `limit` transactions and the first `limit` wishes after a sequence. Where one of
 * the lists was cut, the other ends there as well: whoever goes on from the last of both must miss nothing.
 */
export function arrivalsPage(all: LaneArrivals, limit: number): LaneArrivals {
  const end = Math.min(endOf(all.transactions, limit), endOf(all.wishes, limit))
  return {
    transactions: all.transactions.slice(0, limit).filter(({ sequence }) => sequence <= end),
    wishes: all.wishes.slice(0, limit).filter(({ sequence }) => sequence <= end),
  }
}

function endOf(list: readonly { readonly sequence: number }[], limit: number): number {
  return list.length < limit ? Number.POSITIVE_INFINITY : (list[limit - 1]?.sequence ?? 0)
}

/**
 * Where `arrivals` goes on from, for a holder that has loaded all transactions up to `sequence`: not beyond a wish that
 * an earlier holder has not done. What lies above it arrives again.
 */
export function arrivedUpTo(sequence: number, firstWish: number | undefined): number {
  return firstWish === undefined ? sequence : Math.min(sequence, firstWish - 1)
}

/**
 * The place of a transaction in a list: by when it was taken on, then by its place in the order of arrival of the lane
 * that it came into, which it keeps where it is handed to another lane. Both may be equal, ids are not.
 */
export type ListPlace = { readonly createdAtMs: number; readonly arrival: number; readonly id: string }

/** Below every place that a transaction of this time can have. */
const FIRST_ARRIVAL = -1
const ABOVE_ALL: ListPlace = {
  createdAtMs: Number.MAX_VALUE,
  arrival: Number.MAX_SAFE_INTEGER,
  id: '',
}

function listCursor({ createdAtMs, arrival, id }: ListPlace): string {
  return `${createdAtMs}:${arrival}:${id}`
}

/** @throws `INVALID` for what no list gave back */
export function listPlace(cursor: string): ListPlace {
  const [, createdAtMs, arrival, id] = /^(-?\d{1,16}(?:\.\d{1,20})?):(-?\d{1,16}):(.*)$/s.exec(cursor) ?? []
  if (createdAtMs === undefined || arrival === undefined || id === undefined)
    throw invalid('cursor', cursor, 'the cursor of a page')
  return { createdAtMs: Number(createdAtMs), arrival: Number(arrival), id }
}

/** What a page holds is between these: below the one place, and taken on at the other time or later. */
export function listBounds({ cursor, createdAfterMs, createdBeforeMs }: Omit<ListOptions, 'limit'>): {
  readonly below: ListPlace
  readonly fromMs: number
} {
  const last = cursor === undefined ? ABOVE_ALL : listPlace(cursor)
  const isEarlier = createdBeforeMs !== undefined && createdBeforeMs <= last.createdAtMs
  const below = isEarlier ? { createdAtMs: createdBeforeMs, arrival: FIRST_ARRIVAL, id: '' } : last
  return { below, fromMs: createdAfterMs ?? -Number.MAX_VALUE }
}

/** The first `limit` of the rows, of which there is one more where there is another page. */
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

/** For a sort: the newest comes first. */
export function newestFirst(a: ListPlace, b: ListPlace): number {
  return b.createdAtMs - a.createdAtMs || b.arrival - a.arrival || compareText(b.id, a.id)
}

/** As databases compare UTF-8, byte by byte, which is the order of the code points. */
function compareText(a: string, b: string): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
