import type { Limits } from '../../types/index.js'
import type { Environment } from '../environment.js'
import { createRequestGate, type RequestGate } from './requestGate.js'

/** A reference to the request budget of a URL. */
export type HeldGate = { readonly gate: RequestGate; release(): void }

type Entry = { readonly gate: RequestGate; holders: number }

/**
 * The request budget of a URL, which all users of the URL in this process share if they have the same limits. A transport
 * without a URL has its own budget.
 */
export function holdGate(
  { clock, shared }: Environment,
  { requestsPerSecond, callsPerSecond, restMsMax }: Limits,
  url: string | undefined,
): HeldGate {
  const create = () => createRequestGate({ clock, limits: { requestsPerSecond, callsPerSecond }, restMsMax })
  if (url === undefined) return { gate: create(), release() {} }
  const key = [url, requestsPerSecond, callsPerSecond, restMsMax].join('|')
  const entry = (shared.gates.get(key) as Entry | undefined) ?? { gate: create(), holders: 0 }
  shared.gates.set(key, entry)
  entry.holders++
  return {
    gate: entry.gate,
    release() {
      entry.holders--
      if (entry.holders === 0 && shared.gates.get(key) === entry) shared.gates.delete(key)
    },
  }
}
