import type { Chain } from 'viem'
import { keccak256, stringToHex } from 'viem'
import { TxlaneError } from '../errors/base.js'
import { show } from '../errors/invalid.js'
import type { LaneReason } from '../lane/engine/health.js'
import type { LaneOptions } from '../types/index.js'
import { defaultLimits } from '../validate/validateLane.js'
import type { OpenOptions } from './open.js'
import { defaultLossDepth } from './recoverLane.js'

/**
 * One lane has one behaviour for the transactions of all its senders. An option that a later sender or allocator names must
 * equal that of the lane; the lane decides an option that is left out. `order`, `starved` and `logger` belong to each sender, a
 * change by `setFees` is no option, the store is part of the name of the lane, and `coldStart` concerns only the opening.
 *
 * @throws TxlaneError `INVALID`, which names the option
 */
export function checkShared(lane: OpenOptions, joining: OpenOptions): void {
  const { given } = joining
  const same = (name: string, wanted: unknown, is: unknown) => {
    if (wanted !== undefined && !isSame(wanted, is)) throw differs(name, wanted, is)
  }
  const [is, defaults] = [laneBehaviour(lane), behaviourDefaults(lane.client.chain)]
  for (const [name, wanted] of Object.entries(laneBehaviour(given)))
    same(name, wanted, is[name] ?? defaults[name])
  for (const [name, value] of Object.entries(given.limits ?? {}))
    same(`limits.${name}`, value, lane.limits[name as keyof typeof lane.limits])
  if (given.endpoints !== undefined) same('endpoints', endpointsOf(joining), endpointsOf(lane))
  same('client', placeOf(joining.client), placeOf(lane.client))
}

function endpointsOf({ endpoints = [] }: OpenOptions): readonly string[] {
  return endpoints.map(({ client, role = 'both' }) => `${role} ${placeOf(client)}`)
}

/** The destination of a client, as far as its transport shows it: the URL, or the kind of transport. */
function placeOf(client: { readonly transport: unknown }): string {
  const { url, type, key } = client.transport as { url?: unknown; type?: unknown; key?: unknown }
  return typeof url === 'string' ? url : `${String(type)} ${String(key)}`
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isSame((a as Fields)[name], (b as Fields)[name]))
}

type Fields = Readonly<Record<string, unknown>>

function differs(name: string, wanted: unknown, is: unknown): TxlaneError {
  // A URL may contain an API key.
  const isPlace = name === 'client' || name === 'endpoints'
  const values = isPlace ? '' : `: got ${show(wanted)}, and the lane has ${show(is)}`
  return new TxlaneError(
    `The option ${name} differs from that of the lane, which is open already${values}.`,
    {
      code: 'INVALID',
      fate: 'notExecuted',
      metaMessages: [
        `Argument: ${name}`,
        'Senders and allocators of one account share a lane, and its options are those of the first.',
      ],
    },
  )
}

/** The options that decide how a lane treats the transactions of all senders, by name; undefined for one that is left out. */
function laneBehaviour(options: LaneOptions<Chain>): Readonly<Record<string, unknown>> {
  const { broadcast, simulate, gasMultiplier, lossDepth, finality, groups, fees } = options
  return {
    broadcast,
    simulate,
    gasMultiplier,
    lossDepth,
    finality,
    groups,
    'fees.ceiling': fees?.ceiling,
    'fees.preset': fees?.preset,
    'fees.groups': fees?.groups,
    'fees.budget': fees?.budget,
    'fees.estimate': fees?.estimate,
    'fees.bump.percent': fees?.bump?.percent,
    'fees.bump.attemptsMax': fees?.bump?.attemptsMax,
  }
}

/** The defaults of these options. */
function behaviourDefaults(chain: Chain): Readonly<Record<string, unknown>> {
  return {
    broadcast: 'first',
    simulate: false,
    gasMultiplier: 1,
    lossDepth: defaultLossDepth(chain),
    'fees.bump.percent': 10,
    'fees.bump.attemptsMax': 12,
  }
}

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

/** The differences as a reason of `health()`. */
export function optionReasons(differences: readonly OptionDifference[]): LaneReason[] {
  if (differences.length === 0) return []
  const options = differences.map(({ option }) => option)
  return [{ for: 'options', options, sentence: sayDifferences(differences), operator: true }]
}
