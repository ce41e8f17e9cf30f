import {
  type BudgetLimits,
  type BudgetStatus,
  createRequestBudget,
  type RequestEnded,
  type Ticket,
} from '../../delivery/requestBudget.js'
import { redactText } from '../../errors/redact.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Limits } from '../../types/index.js'
import type { Environment } from '../environment.js'

/** The number of calls that may leave now. `atMs` identifies the request when its end is reported. */
export type Grant = { readonly calls: number; readonly atMs: number }

/** The calls that an endpoint refused because of a rate limit. */
export type Denial = {
  readonly calls: number
  /** The pause that it asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
  readonly said: string
}

type GateEnded = Omit<RequestEnded, 'atMs' | 'denied' | 'retryAfterMs'> & {
  readonly denial: Denial | undefined
}

/**
 * The request budget of one URL in this process, with its timer. Every user of the URL asks here before a request, and
 * reports how the request ended.
 */
export type RequestGate = {
  /**
   * Calls `granted` once, in this turn if no request has to wait. Returns a function that withdraws the question. Fewer calls
   * may be granted than were asked for: ask again for the rest.
   */
  ask(asked: Omit<Ticket, 'id'>, granted: (grant: Grant) => void): () => void
  ended(ended: GateEnded): void
  /** A new block has come: a poll may leave before its turn. */
  block(): void
  status(): BudgetStatus
  /** No request leaves for now: the endpoint asked for a pause, or denied everything. */
  readonly isBlocked: boolean
  /** The reason for the current pause. */
  readonly restReason: string | undefined
  /** The last words of the endpoint about its rate limit, and their time. */
  readonly denial: { readonly said: string; readonly atMs: number } | undefined
  /** Calls `listener` with the reason of a pause: once for a run of denials, and for each pause longer than a moment. */
  onRest(listener: (reason: string) => void): () => void
}

/** Each pause longer than this is reported. */
const MOMENT_MS = 1_000
const WORDS_CHARS_MAX = 300
/** After this time without a denial, the next one begins a new run. */
const RUN_MS = 5_000

export function createRequestGate(parts: {
  readonly clock: Clock
  readonly limits: BudgetLimits
  /** The longest pause, in milliseconds. */
  readonly restMsMax: number
}): RequestGate {
  const { clock, restMsMax } = parts
  const budget = createRequestBudget(parts.limits)
  const waiting = new Map<number, (grant: Grant) => void>()
  const listeners = new Set<(reason: string) => void>()
  let tickets = 0
  let cancel: CancelTimer | undefined
  // The time and the words of the newest denial.
  let reason: string | undefined
  let deniedAtMs = Number.NEGATIVE_INFINITY
  let restsUntilMs = Number.NEGATIVE_INFINITY

  function run(): void {
    const atMs = clock.now()
    const { granted, wakeAtMs } = budget.grants(atMs)
    cancel?.()
    cancel = wakeAtMs === undefined ? undefined : clock.setTimer(run, Math.max(1, wakeAtMs - atMs))
    const taken = granted.map(({ id, calls }) => ({ calls, use: waiting.get(id) }))
    for (const { id } of granted) waiting.delete(id)
    for (const { calls, use } of taken) use?.({ calls, atMs })
  }

  function withdraw(id: number): void {
    if (!waiting.delete(id)) return
    budget.withdraw(id)
    run()
  }

  /** The pause that an endpoint asks for is obeyed up to a bound. */
  const restMsOf = ({ retryAfterMs }: Denial): number | undefined =>
    retryAfterMs === undefined ? undefined : Math.min(restMsMax, retryAfterMs)

  /** Reports a pause: once for a run of denials, and each time for a pause longer than a moment. */
  function note({ retryAfterMs: askedMs, said }: Denial): void {
    const now = clock.now()
    const { blockedUntilMs = now } = budget.status(now)
    const isLong = blockedUntilMs - now > MOMENT_MS && restsUntilMs <= now
    const isChange = isLong || now - deniedAtMs >= RUN_MS
    deniedAtMs = now
    restsUntilMs = Math.max(restsUntilMs, blockedUntilMs)
    reason = reasonFor({ restMs: Math.min(restMsMax, askedMs ?? blockedUntilMs - now), askedMs, said })
    if (isChange) for (const listener of [...listeners]) listener(reason)
  }

  function reasonFor(rest: { restMs: number; askedMs: number | undefined; said: string }): string {
    const { restMs, askedMs, said } = rest
    const isCapped = askedMs !== undefined && askedMs > restMs
    const asked = isCapped ? ` It asked for ${seconds(askedMs)}, which is more than limits.restMsMax.` : ''
    const how = restMs > 0 ? `left alone for ${seconds(restMs)}` : 'asked less often'
    const words = redactText(said.slice(0, WORDS_CHARS_MAX))
    return `The endpoint says that it is asked too often, and is ${how}.${asked} It said: ${words}`
  }

  const isBlocked = () => budget.status(clock.now()).blockedUntilMs !== undefined

  return {
    ask(asked, granted) {
      const atMs = clock.now()
      if (budget.takeFree(asked, atMs)) {
        granted({ calls: asked.calls, atMs })
        return nothing
      }
      const { priority, calls, together } = asked
      const id = ++tickets
      waiting.set(id, granted)
      budget.ask({ id, priority, calls, together })
      run()
      return () => withdraw(id)
    },
    ended({ denial, ...request }) {
      const atMs = clock.now()
      const retryAfterMs = denial && restMsOf(denial)
      budget.ended({ ...request, atMs, denied: denial?.calls ?? 0, retryAfterMs })
      if (denial) note(denial)
      if (waiting.size > 0) run()
    },
    block() {
      budget.block(clock.now())
      if (waiting.size > 0) run()
    },
    status: () => budget.status(clock.now()),
    get isBlocked() {
      return isBlocked()
    },
    get denial() {
      return reason === undefined ? undefined : { said: reason, atMs: deniedAtMs }
    },
    get restReason() {
      return isBlocked() ? reason : undefined
    },
    onRest(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

const nothing = () => {}
const seconds = (ms: number) => `${Math.ceil(ms) / 1_000} s`

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
