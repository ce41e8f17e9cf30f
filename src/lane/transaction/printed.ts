import type { TxRecord } from '../../types/index.js'

/** Where Node's console looks for what to print of an object. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** Prints a transaction: its record on one screen, with `attempts` only where there are several. */
export function printedTx(
  { attempts, ...record }: TxRecord,
  options?: object,
  inspect?: (value: object, options?: object) => string,
): string | object {
  const offers = attempts.map(({ nonce, hash, fees }) => `${nonce} ${hash} ${Object.values(fees).join(' ')}`)
  const shown = attempts.length > 1 ? { ...record, attempts: offers } : record
  // Who calls it without Node's own gives it to its own printer.
  return inspect ? `Tx ${inspect(shown, options)}` : shown
}
