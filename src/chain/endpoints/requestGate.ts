import {
  type BudgetLimits,
  type BudgetStatus,
  createRequestBudget,
  type RequestEnded,
  type Ticket,
} from '../../delivery/requestBudget.js'
import { redactText } from '../../errors/redact.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'

/** So many calls may leave now. `atMs` names the moment when the end of the request is reported. */
export type Grant = { readonly calls: number; readonly atMs: number }

/** What an endpoint refused because of a rate limit. */
export type Denial = {
  readonly calls: number
  /** What it asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
  readonly said: string
}

export type GateEnded = Omit<RequestEnded, 'atMs' | 'denied' | 'retryAfterMs'> & {
  readonly denial: Denial | undefined
}

/**
 * The request budget of one URL in this process, with its timer. Everybody who asks that URL for something asks here
 * first, and reports how it ended.
 */
export type RequestGate = {
  /**
   * Calls `granted` once, in this turn where nothing has to wait. Returns what withdraws it. Fewer calls may be granted
   * than were asked for: the rest is asked for again.
   */
  ask(asked: Omit<Ticket, 'id'>, granted: (grant: Grant) => void): () => void
  ended(ended: GateEnded): void
  /** A new block: a poll may go before its turn. */
  block(): void
  status(): BudgetStatus
  /** Nothing leaves for now: the endpoint asked for it, or denied everything. */
  readonly isBlocked: boolean
  /** Why it is left alone now. */
  readonly restReason: string | undefined
  /** What it last said of how often it is asked, and when. */
  readonly denial: { readonly said: string; readonly atMs: number } | undefined
  /**
   * Calls `listener` with the reason when it is left alone: once for a run of denials, and each time for longer than a
   * moment.
   */
  onRest(listener: (reason: string) => void): () => void
}

/** A rest that is longer is told each time. */
const MOMENT_MS = 1_000
const WORDS_CHARS_MAX = 300
/** Without a denial for so long the next one begins a new run. */
const RUN_MS = 5_000

export function createRequestGate(parts: {
  readonly clock: Clock
  readonly limits: BudgetLimits
  /** The longest rest, in milliseconds. */
  readonly restMsMax: number
}): RequestGate {
  const { clock, restMsMax } = parts
  const budget = createRequestBudget(parts.limits)
  const waiting = new Map<number, (grant: Grant) => void>()
  const listeners = new Set<(reason: string) => void>()
  let tickets = 0
  let cancel: CancelTimer | undefined
  // Of the newest denial.
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

  /** What an endpoint asks for is obeyed up to a bound. */
  const restMsOf = ({ retryAfterMs }: Denial): number | undefined =>
    retryAfterMs === undefined ? undefined : Math.min(restMsMax, retryAfterMs)

  /** Told where it is a change: once for a run of denials, and each time that it rests for longer than a moment. */
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
