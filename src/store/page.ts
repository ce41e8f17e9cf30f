import { invalid } from '../errors/invalid.js'
import type { LaneArrivals, StoredTransaction } from './store.js'

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

/** The place of a transaction in a list. Sequences may be equal, ids are not. */
export type ListPlace = { readonly sequence: number; readonly id: string }

export function listCursor({ sequence, id }: Pick<StoredTransaction, 'sequence' | 'id'>): string {
  return `${sequence}:${id}`
}

/** @throws `INVALID` for what no list gave back */
export function listPlace(cursor: string): ListPlace {
  const [, sequence, id] = /^(-?\d{1,16}):(.*)$/s.exec(cursor) ?? []
  if (sequence === undefined || id === undefined) throw invalid('cursor', cursor, 'the cursor of a page')
  return { sequence: Number(sequence), id }
}
