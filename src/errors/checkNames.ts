import { TxlaneError } from './base.js'
import { show } from './invalid.js'
import { redactText } from './redact.js'

/** The allowed names of an options object. `satisfies Names<Options>` keeps the list complete. */
export type Names<options> = Readonly<Record<keyof options, true>>

/**
 * Refuses an unknown option, so that a typing error is not silently ignored. A field with the value undefined
 * counts as not given.
 *
 * @throws TxlaneError `INVALID`, which names the option and the nearest existing one
 */
export function checkNames(argument: string, given: object, names: Readonly<Record<string, true>>): void {
  for (const name in given) {
    if (Object.hasOwn(names, name)) continue
    const value = (given as Record<string, unknown>)[name]
    if (value !== undefined) throw unknownName(argument, name, value, Object.keys(names))
  }
}

/** @returns the error for an option that does not exist */
export function unknownName(
  argument: string,
  name: string,
  value: unknown,
  names: readonly string[],
): TxlaneError {
  const path = redactText(argument === '' ? name : `${argument}.${name}`)
  const nearest = nearestName(name, names)
  return new TxlaneError(`There is no option ${path}: did you mean ${nearest}? Got ${show(value)}.`, {
    code: 'INVALID',
    fate: 'notExecuted',
    isRedacted: true,
    metaMessages: [`Argument: ${path}`],
  })
}

const BEGINNING_MIN = 3

/**
 * The nearest name: one that is a prefix of the given name or has it as a prefix, else the one with the
 * smallest edit distance.
 */
export function nearestName(name: string, names: readonly string[]): string {
  const wanted = name.toLowerCase()
  const beginnings = names.filter((one) => {
    const known = one.toLowerCase()
    return wanted.startsWith(known) || (wanted.length >= BEGINNING_MIN && known.startsWith(wanted))
  })
  const candidates = beginnings.length > 0 ? beginnings : names
  const byDistance = candidates.map((one) => ({ one, distance: editDistance(wanted, one.toLowerCase()) }))
  return byDistance.reduce((best, next) => (next.distance < best.distance ? next : best)).one
}

/** The Levenshtein distance: the number of letters to insert, delete or change. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1]
    for (const [index, other] of [...b].entries()) {
      const [left = 0, above = 0, corner = 0] = [next[index], row[index + 1], row[index]]
      next.push(Math.min(left + 1, above + 1, corner + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row[b.length] ?? 0
}
