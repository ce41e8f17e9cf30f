import { TxlaneError } from '../errors/base.js'
import { show } from '../errors/invalid.js'
import { behaviourDefaults, laneBehaviour } from './laneBehaviour.js'
import type { OpenOptions } from './open.js'

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
