import type { Address } from 'viem'
import { moneyKey } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import { isPackable, isPayment } from './payment.js'

/** Rows to send together, or one to send alone. */
export type Unit = { readonly kind: 'pack' | 'alone'; readonly rows: readonly Row[] }

/**
 * Divides rows into packs, in file order: a pack stands where it is full. A call is sent alone, after the rows
 * above it and before those below, because they may depend on it. `size` is read for each row: it may shrink.
 */
export function* unitsOf(
  rows: readonly Row[],
  size: () => number,
  mayPack: (row: Row) => boolean,
): Generator<Unit> {
  const open = new Map<string, Row[]>()
  const alone = (row: Row): Unit => ({ kind: 'alone', rows: [row] })
  for (const row of rows) {
    if (!isPayment(row)) {
      for (const pack of open.values()) yield unitOf(pack)
      open.clear()
      yield alone(row)
      continue
    }
    if (!mayPack(row)) {
      yield alone(row)
      continue
    }
    const key = moneyKey(row.money)
    const pack = open.get(key) ?? []
    pack.push(row)
    open.set(key, pack)
    if (pack.length < size()) continue
    open.delete(key)
    yield unitOf(pack)
  }
  for (const pack of open.values()) yield unitOf(pack)
}

function unitOf(rows: readonly Row[]): Unit {
  // One transfer of native currency costs less without the contract; a token is approved already.
  const isAlone = rows.length === 1 && rows[0]?.money.kind === 'native'
  return { kind: isAlone ? 'alone' : 'pack', rows }
}

/**
 * The rows that may share a transaction. `planned` has them by currency. A token is approved and paid in transactions
 * of their own, so its rows are sent alone if that takes no more of them.
 */
export function packableBy(
  rows: readonly Row[],
  size: number,
  parties: readonly Address[],
): { readonly mayPack: (row: Row) => boolean; readonly planned: ReadonlyMap<string, readonly Row[]> } {
  const planned = new Map<string, Row[]>()
  for (const row of rows) {
    if (!isPayment(row) || !isPackable(row, parties)) continue
    const key = moneyKey(row.money)
    const list = planned.get(key)
    if (list === undefined) planned.set(key, [row])
    else list.push(row)
  }
  for (const [key, list] of planned) {
    const approvals = list[0]?.money.kind === 'token' ? 1 : 0
    if (Math.ceil(list.length / size) + approvals >= list.length) planned.delete(key)
  }
  return {
    planned,
    mayPack: (row) => planned.has(moneyKey(row.money)) && isPackable(row, parties),
  }
}
