import type { TxRecord } from '../../types/index.js'

/** Symbol under which Node's console looks for an object's custom inspection. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** Prints a transaction: its record on one screen, with `attempts` only if there are several. */
export function printedTx(
  { attempts, ...record }: TxRecord,
  options?: object,
  inspect?: (value: object, options?: object) => string,
): string | object {
  const offers = attempts.map(({ nonce, hash, fees }) => `${nonce} ${hash} ${Object.values(fees).join(' ')}`)
  const shown = attempts.length > 1 ? { ...record, attempts: offers } : record
  // A caller that passes no `inspect` gets the object for a printer of its own.
  return inspect ? `Tx ${inspect(shown, options)}` : shown
}
