import type { RequestPriority } from '../rpc/port.js'
import { type BudgetLimits, createMeters, type RequestEnded } from './meters.js'

/** In the order in which requests are served: the missing head of a lane first, receipts last. */
export const PRIORITIES = [
  'repair',
  'send',
  'evidence',
  'poll',
  'receipt',
] as const satisfies RequestPriority[]
export type Priority = RequestPriority

/** A request that waits for its turn. */
export type Ticket = {
  readonly id: number
  readonly priority: Priority
  /** Calls that it would hold. It may be granted fewer: the rest is asked for again. */
  readonly calls: number
  /** It is granted all of them, or as many as a second allows. */
  readonly together?: boolean | undefined
}

export type Grants = {
  /** To be sent now, in this order, with so many calls each. */
  readonly granted: readonly { readonly id: number; readonly calls: number }[]
  /** When the next ticket may have its turn; undefined while none waits. */
  readonly wakeAtMs: number | undefined
}

export type BudgetStatus = {
  readonly requestsPerSecond: number | undefined
  readonly callsPerSecond: number | undefined
  /** Nothing is sent before: the endpoint asked for it. */
  readonly blockedUntilMs: number | undefined
  readonly waiting: number
  readonly denied: number
}

/**
 * How often one endpoint is asked, by all lanes, senders and pollers of a process: a token bucket with two meters, since
 * providers count requests or calls. Pure: no clock, no timer. The shell asks with a ticket for each request, calls
 * `grants` after each `ask` and each `ended`, and again at `wakeAtMs`, sends what is granted, and reports each end.
 *
 * Nothing is limited until the endpoint objects, or a limit is given. Polls get one request a block, and one in the time of
 * a block where none is seen, however many sends wait, but no more than an eighth of what the endpoint allows; evidence and
 * receipts get one in ten blocks. After each of these the highest priority has its turn: at the lowest rates such a request
 * takes most of a second, and a send that waited behind each would never leave.
 */
export type RequestBudget = {
  ask(ticket: Ticket): void
  /**
   * The request leaves now and needs no ticket, since nothing is limited and no other request waits: `ask` and `grants`
   * would grant the same. False where it has to ask.
   */
  takeFree(asked: Omit<Ticket, 'id'>, nowMs: number): boolean
  withdraw(id: number): void
  grants(nowMs: number): Grants
  ended(request: RequestEnded): void
  /** A new block: a poll may go before its turn. */
  block(nowMs: number): void
  status(nowMs: number): BudgetStatus
}

const RARE_BLOCKS = 10
/** Between two blocks, as long as no two have been seen. Several blocks of one look are none. */
const BLOCK_MS = 2_000
const BLOCK_MS_MIN = 1_000
const BLOCK_MS_MAX = 12_000
/** Of what the endpoint takes, for polls before their turn. */
const POLL_SHARE = 1 / 8

export function createRequestBudget(limits: BudgetLimits = {}): RequestBudget {
  const meters = createMeters(limits)
  const queues = new Map<Priority, Ticket[]>(PRIORITIES.map((priority) => [priority, []]))
  const served = new Set<Priority>(PRIORITIES)
  // The newest request was a guaranteed one, and a higher priority waited.
  let wentBefore = false
  let blocks = 0
  let blockAtMs: number | undefined
  // The shortest time between two blocks: where polls have no turn blocks seem to come rarely.
  let blockMs: number | undefined
  let polledAtMs: number | undefined
  let denied = 0
  // Tickets in all queues.
  let waiting = 0

  const queueOf = (priority: Priority): Ticket[] => queues.get(priority) ?? []

  /** The priority whose turn it is by itself. */
  const highest = () => PRIORITIES.find((priority) => queueOf(priority).length > 0)

  /** A priority whose guaranteed request is due, else the highest one. The guaranteed ones do not follow each other. */
  function nextTicket(nowMs: number): Ticket | undefined {
    if (waiting === 0) return undefined
    // Polls alone see blocks: one that never had its turn would never see the block that grants it one.
    polledAtMs ??= nowMs
    const sinceMs = nowMs - polledAtMs
    if (sinceMs >= (blockMs ?? BLOCK_MS)) served.delete('poll')
    const isDue = (priority: Priority) =>
      queueOf(priority).length > 0 &&
      !served.has(priority) &&
      (priority !== 'poll' || sinceMs >= pollEveryMs(nowMs))
    const first = (wentBefore ? undefined : PRIORITIES.find(isDue)) ?? highest()
    return first && queueOf(first)[0]
  }

  /** At a low rate polls before their turn take no more than their share. */
  const pollEveryMs = (nowMs: number): number =>
    meters.msFor(queueOf('poll')[0]?.calls ?? 0, nowMs) / POLL_SHARE

  /** A batch that fits the bucket: what trickles in is not sent call by call. */
  const sizeOf = ({ calls, together }: Ticket, nowMs: number): number =>
    Math.min(calls, together ? meters.perSecond(nowMs) : meters.portion(nowMs))

  function grant(ticket: Ticket, size: number, nowMs: number): { id: number; calls: number } {
    meters.take(size, nowMs)
    wentBefore = ticket.priority !== highest()
    queueOf(ticket.priority).shift()
    waiting--
    noteServed(ticket.priority, nowMs)
    return { id: ticket.id, calls: size }
  }

  function noteServed(priority: Priority, nowMs: number): void {
    served.add(priority)
    if (priority === 'poll') polledAtMs = nowMs
  }

  return {
    ask(ticket) {
      queueOf(ticket.priority).push(ticket)
      waiting++
    },
    takeFree({ priority, calls: size }, nowMs) {
      if (waiting > 0 || meters.isLimited || meters.blockedUntilMs > nowMs) return false
      meters.take(size, nowMs)
      wentBefore = false
      noteServed(priority, nowMs)
      return true
    },
    withdraw(id) {
      for (const queue of queues.values()) {
        const at = queue.findIndex((ticket) => ticket.id === id)
        if (at < 0) continue
        queue.splice(at, 1)
        waiting--
      }
    },
    grants(nowMs) {
      const granted: { id: number; calls: number }[] = []
      for (let ticket = nextTicket(nowMs); ticket !== undefined; ticket = nextTicket(nowMs)) {
        const size = sizeOf(ticket, nowMs)
        const atMs = meters.dueAt(size, nowMs)
        if (atMs > nowMs) {
          meters.wanted(nowMs)
          return { granted, wakeAtMs: atMs }
        }
        granted.push(grant(ticket, size, nowMs))
      }
      return { granted, wakeAtMs: undefined }
    },
    ended(request) {
      if (request.denied > 0) denied++
      meters.ended(request)
    },
    block(nowMs) {
      served.delete('poll')
      const gapMs = nowMs - (blockAtMs ?? nowMs)
      blockAtMs = nowMs
      if (gapMs >= BLOCK_MS_MIN) blockMs = Math.min(gapMs, blockMs ?? BLOCK_MS_MAX)
      if (++blocks % RARE_BLOCKS !== 0) return
      served.delete('evidence')
      served.delete('receipt')
    },
    status(nowMs) {
      const finite = (rate: number) => (Number.isFinite(rate) ? rate : undefined)
      const { requests, calls } = meters.rates(nowMs)
      const { blockedUntilMs } = meters
      return {
        requestsPerSecond: finite(requests),
        callsPerSecond: finite(calls),
        blockedUntilMs: blockedUntilMs > nowMs ? blockedUntilMs : undefined,
        waiting,
        denied,
      }
    },
  }
}
