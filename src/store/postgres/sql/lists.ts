import type { StoredTransaction } from '../../../types/store.js'

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
