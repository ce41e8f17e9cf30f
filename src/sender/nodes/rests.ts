import type { Clock, Random } from '../../clock.js'
import { redactText } from '../../errors/redact.js'
import type { EndpointEvent } from '../../types.js'
import type { HubEndpoint } from './hub.js'

/** Leaves endpoints alone that say that they are asked too often. */
export type Rests = {
  /**
   * Nothing is sent there for as long as it asks, within the bound. Told as an event where it is a change: once for
   * a run of such answers, and each time that it asks for longer than a moment.
   */
  begin(endpoint: HubEndpoint, asked: { readonly ms: number | undefined; readonly words: string }): void
  /** It answered otherwise: the next rest is a change. */
  over(endpoint: HubEndpoint): void
  /** Why it is left alone now. */
  reasonOf(endpoint: HubEndpoint): string | undefined
}

/** How long, where the endpoint does not say. */
const REST_MS = 250
/** A rest that is longer is told each time. */
const MOMENT_MS = 1_000
const WORDS_CHARS_MAX = 300

export function createRests(parts: {
  readonly clock: Clock
  readonly random: Random
  /** The longest rest, in milliseconds. */
  readonly restMsMax: number
  readonly tell: (endpoint: HubEndpoint, change: EndpointEvent['change'], reason: string) => void
}): Rests {
  const { clock, random, restMsMax, tell } = parts
  const reasons = new WeakMap<HubEndpoint, string>()

  return {
    begin(endpoint, { ms: askedMs, words }) {
      const now = clock.now()
      const restMs = Math.min(restMsMax, askedMs ?? REST_MS)
      const isChange = !reasons.has(endpoint) || (restMs > MOMENT_MS && endpoint.restUntilMs <= now)
      endpoint.restUntilMs = now + restMs * (1 + random() / 4)
      const reason = reasonFor(restMs, askedMs, redactText(words.slice(0, WORDS_CHARS_MAX)))
      reasons.set(endpoint, reason)
      if (isChange) tell(endpoint, 'rests', reason)
    },
    over: (endpoint) => void reasons.delete(endpoint),
    reasonOf: (endpoint) => (endpoint.restUntilMs > clock.now() ? reasons.get(endpoint) : undefined),
  }
}

function reasonFor(restMs: number, askedMs: number | undefined, words: string): string {
  const asked =
    askedMs !== undefined && askedMs > restMs
      ? ` It asked for ${seconds(askedMs)}, which is more than limits.restMsMax.`
      : ''
  return `The endpoint says that it is asked too often, and is left alone for ${seconds(restMs)}.${asked} It said: ${words}`
}

const seconds = (ms: number) => `${Math.ceil(ms) / 1_000} s`
