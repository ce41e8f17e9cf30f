import { keccak256, stringToHex } from 'viem'
import { defaultLimits } from '../validate/limits.js'
import { behaviourDefaults, laneBehaviour } from './laneBehaviour.js'
import type { OpenOptions } from './open.js'

/** By name, as text: what is left out has its default. */
export type ReportedOptions = Readonly<Record<string, string>>

/**
 * The options that only the process which holds the lane applies, to what every process sends. They have to be equal in
 * all of them: a lane would behave otherwise after each change of hands.
 */
export function reportedOptions(options: OpenOptions): ReportedOptions {
  const { window, queueMax } = options.limits
  const now = { ...laneBehaviour(options), 'limits.window': window, 'limits.queueMax': queueMax }
  const defaults = {
    ...behaviourDefaults(options.client.chain),
    'limits.window': defaultLimits.window,
    'limits.queueMax': defaultLimits.queueMax,
  } as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(now).flatMap(([name, value]) =>
      value === undefined || value === defaults[name] ? [] : [[name, short(written(value))]],
    ),
  )
}

/** The names of fields in one order, and none that is undefined: equal values give equal texts. */
function written(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  // It cannot be compared; that there is one can.
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${name}: ${written(field)}`)
  return `{ ${fields.join(', ')} }`
}

const CHARS_MAX = 200

/** Shares of a thousand groups are told apart by their hash. */
function short(text: string): string {
  return text.length <= CHARS_MAX
    ? text
    : `${text.slice(0, CHARS_MAX)}… (${keccak256(stringToHex(text)).slice(0, 10)})`
}

export type OptionDifference = { readonly option: string; readonly own: string; readonly holder: string }

export function differencesOf(own: ReportedOptions, holder: ReportedOptions): readonly OptionDifference[] {
  const names = new Set([...Object.keys(own), ...Object.keys(holder)])
  return [...names]
    .filter((name) => own[name] !== holder[name])
    .map((option) => ({
      option,
      own: own[option] ?? 'its default',
      holder: holder[option] ?? 'its default',
    }))
}

/** One sentence for people. */
export function sayDifferences(differences: readonly OptionDifference[]): string {
  const each = differences.map(
    ({ option, own, holder }) => `${option} is ${own} here, and ${holder} in the process that holds the lane`,
  )
  return `Options that have to be equal in all processes differ: ${each.join('; ')}. Those of the holder count.`
}
