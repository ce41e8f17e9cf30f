import type { StoredTransaction } from '../../../types/store.js'

// A list goes as one text, which the server takes apart: the driver would escape each item of an array by itself, and
// that costs more than all the rest of a write.

/** Numbers, flags, names of ours and hashes: `listed` in the statement. A hash that there is not is empty. */
export function list(items: readonly (number | boolean | string)[]): string {
  return items.join(',')
}

/** Bodies, which are one line each: `lined` in the statement. */
export function lines(bodies: readonly string[]): string {
  return bodies.join('\n')
}

/** Two values: when each was taken on, and its group. */
export function listedValuesOf(transactions: readonly StoredTransaction[]): unknown[] {
  const groups = transactions.map(({ group }) => group ?? null)
  // Most have none.
  return [
    list(transactions.map(({ createdAtMs }) => createdAtMs)),
    groups.some((one) => one !== null) ? groups : null,
  ]
}

export const listed = (parameter: string, type: 'bigint' | 'boolean' | 'double precision' | 'text') =>
  `string_to_array(${parameter}::text, ',', '')::${type}[]`

export const lined = (parameter: string) => `string_to_array(${parameter}::text, E'\\n')`
