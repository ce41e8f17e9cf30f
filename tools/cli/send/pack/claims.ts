import type { Sender } from '../../../../src/index.js'
import type { Row } from '../file/rows.js'
import { type Attempt, attemptOf, lastAttempt, type RunOptions, withoutEffect } from '../pay/run.js'
import type { Pin, Pins } from './pins.js'
import { RANKS, type State, stateIn } from './ranks.js'

/** A transaction of an earlier run, with the rows whose end it decides. */
export type Followed =
  | { readonly kind: 'alone'; readonly row: Row; readonly id: string }
  | { readonly kind: 'pack'; readonly pin: Pin; readonly rows: readonly Row[] }

export type Claims = {
  readonly followed: readonly Followed[]
  /** No transaction of an earlier run pays these rows, or can still do so. In file order. */
  readonly free: readonly Row[]
  /** How to send a free row alone. */
  readonly attemptOf: (row: Row) => Attempt
}

export function allFree(rows: readonly Row[]): Claims {
  return { followed: [], free: rows, attemptOf: ({ id }) => ({ id }) }
}

/**
 * Finds the transaction that each row belongs to, among the packs of the pins and the attempts to send the row
 * alone. All of them but one have ended without execution, or reverted: a row is only given to another
 * transaction when it is free.
 */
export async function readClaims(
  sender: Pick<Sender, 'get'>,
  rows: readonly Row[],
  pins: Pins,
  options: Pick<RunOptions, 'retryReverted' | 'transfers'>,
): Promise<Claims> {
  const { retryReverted, transfers } = options
  const byId = new Map(rows.map((row) => [row.id, row]))
  const inPacks = new Map<string, { readonly pin: Pin; readonly state: State }>()
  for (const pin of pins.packs) {
    const tx = await sender.get(pin.pack)
    const packed = pin.rows.flatMap((id) => byId.get(id) ?? [])
    const unpaid = new Set(tx && (await withoutEffect(packed, tx, transfers)))
    for (const row of packed) {
      const { id } = row
      const state = stateIn(tx?.stage, unpaid.has(row))
      const known = inPacks.get(id)
      if (known === undefined || RANKS[state] >= RANKS[known.state]) inPacks.set(id, { pin, state })
    }
  }
  const followed: Followed[] = []
  const packs = new Map<Pin, Row[]>()
  const free: Row[] = []
  const attempts = new Map<string, Attempt>()
  for (const row of rows) {
    const packed = inPacks.get(row.id) ?? { state: 'none' as const, pin: undefined }
    const isLive = packed.state === 'live'
    const alone = isLive ? undefined : await lastAttempt(sender, row)
    const aloneTx = alone?.tx
    const unpaid = aloneTx ? await withoutEffect([row], aloneTx, transfers) : []
    const aloneState = stateIn(aloneTx?.stage, unpaid.length > 0)
    const isPacked = RANKS[packed.state] > RANKS[aloneState]
    const state = isPacked ? packed.state : aloneState
    if (RANKS[state] === 0 || (state === 'reverted' && retryReverted)) {
      free.push(row)
      if (alone !== undefined) attempts.set(row.id, await attemptOf(row, alone, options))
    } else if (isPacked && packed.pin !== undefined) {
      packs.set(packed.pin, [...(packs.get(packed.pin) ?? []), row])
    } else if (alone?.tx !== undefined) followed.push({ kind: 'alone', row, id: alone.tx.id })
  }
  for (const [pin, own] of packs) followed.push({ kind: 'pack', pin, rows: own })
  return { followed, free, attemptOf: ({ id }) => attempts.get(id) ?? { id } }
}
