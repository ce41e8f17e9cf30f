import { keccak256, stringToHex } from 'viem'
import { defaultLimits } from '../validate/validateLane.js'
import { behaviourDefaults, laneBehaviour } from './laneBehaviour.js'
import type { OpenOptions } from './open.js'

/** The options as text, by name. An option that is left out has its default. */
export type ReportedOptions = Readonly<Record<string, string>>

/**
 * The options that only the owner of the lane applies, to the transactions of every process. They have to be equal in all
 * processes: else the lane would behave differently after each change of its owner.
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

/** Sorts the fields and leaves out undefined ones, so that equal values give equal texts. */
function written(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  // A function cannot be compared, but its presence can.
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${name}: ${written(field)}`)
  return `{ ${fields.join(', ')} }`
}

const CHARS_MAX = 200

/** A hash stands for the shares of a thousand groups. */
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

/** Describes the differences in one sentence. */
export function sayDifferences(differences: readonly OptionDifference[]): string {
  const each = differences.map(
    ({ option, own, holder }) => `${option} is ${own} here, and ${holder} in the process that holds the lane`,
  )
  return `Options that have to be equal in all processes differ: ${each.join('; ')}. The options of the lane owner apply.`
}
