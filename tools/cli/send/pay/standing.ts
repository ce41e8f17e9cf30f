import type { Stage } from '../../../../src/types/index.js'
import type { StoredTransaction } from '../../../../src/types/store.js'
import type { Row } from '../file/rows.js'
import { unmovedKey } from './transfers.js'

/**
 * The state of a line before a run, from the store. `signed`: it may have been sent, and is only followed.
 * `failed`: it never ran. `unmoved`: it succeeded, and an earlier run saw that its token moved nothing. `new`:
 * no earlier run began it, or signed it.
 */
export type Standing = 'paid' | 'unmoved' | 'reverted' | 'signed' | 'cancelled' | 'failed' | 'new'

/** The lines of a file by their state. */
export type Standings = Readonly<Record<Standing, readonly Row[]>> & {
  /** The blocks of the first and the last paid line. */
  readonly blocks: readonly [first: number, last: number] | undefined
  /** The times of these blocks, in ISO 8601. */
  readonly between?: readonly [first: string, last: string] | undefined
}

export type Stored = Pick<StoredTransaction, 'stage' | 'status' | 'block'> &
  Partial<Pick<StoredTransaction, 'hash'>>

const STANDING: Readonly<Record<Stage, Standing>> = {
  queued: 'new',
  signed: 'signed',
  accepted: 'signed',
  preconfirmed: 'signed',
  sealed: 'paid',
  safe: 'paid',
  finalized: 'paid',
  failed: 'failed',
  cancelled: 'cancelled',
  superseded: 'cancelled',
}

/**
 * `find` returns the transaction that an earlier run made for a row, its last attempt. `unmoved`: see `unmovedIn`.
 */
export function standingsOf(
  rows: readonly Row[],
  find: (row: Row) => Stored | undefined,
  unmoved: ReadonlySet<string> = new Set(),
): Standings {
  const lists: Record<Standing, Row[]> = {
    paid: [],
    unmoved: [],
    reverted: [],
    signed: [],
    cancelled: [],
    failed: [],
    new: [],
  }
  let [first, last] = [Number.POSITIVE_INFINITY, -1]
  for (const row of rows) {
    const stored = find(row)
    const { hash } = stored ?? {}
    const isUnmoved = hash !== undefined && unmoved.has(unmovedKey(row.id, hash))
    const standing = isUnmoved ? 'unmoved' : standingOf(stored)
    lists[standing].push(row)
    if (standing !== 'paid' || stored?.block === undefined) continue
    const { number } = stored.block
    first = Math.min(first, number)
    last = Math.max(last, number)
  }
  return { ...lists, blocks: last < 0 ? undefined : [first, last] }
}

function standingOf(stored: Stored | undefined): Standing {
  if (stored === undefined) return 'new'
  const standing = STANDING[stored.stage]
  return standing === 'paid' && stored.status === 'reverted' ? 'reverted' : standing
}

/** The transaction of a row's last attempt: `id`, `id~2`, and so on. */
export function lastAttempt<stored>(known: ReadonlyMap<string, stored>): (row: Row) => stored | undefined {
  return ({ id }) => {
    let found = known.get(id)
    for (let attempt = 2; found !== undefined; attempt++) {
      const later = known.get(`${id}~${attempt}`)
      if (later === undefined) return found
      found = later
    }
    return undefined
  }
}

/** The rows that a run sends, in file order. The others are only followed. */
export function rowsToSend(
  rows: readonly Row[],
  standings: Standings | undefined,
  retryReverted: boolean,
): readonly Row[] {
  if (standings === undefined) return rows
  const { paid, signed, cancelled, reverted, unmoved } = standings
  const done = new Set([
    ...paid,
    ...signed,
    ...cancelled,
    ...(retryReverted ? [] : [...reverted, ...unmoved]),
  ])
  return rows.filter((row) => !done.has(row))
}
