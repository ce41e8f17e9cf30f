import type { RequestPriority } from '../rpc/port.js'

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
  /** The number of calls in the request. Fewer may be granted; the caller requests the rest again. */
  readonly calls: number
  /** All calls are granted together, or as many as a second allows. */
  readonly together?: boolean | undefined
}

/** The tickets that wait, and the order in which they have their turn. */
export type RequestTurns = {
  /** The number of tickets that wait. */
  readonly waiting: number
  ask(ticket: Ticket): void
  withdraw(id: number): void
  /**
   * A ticket of a priority whose guaranteed request is due, else of the highest priority. Two guaranteed
   * requests never follow each other. It stays in its queue until it is `granted`.
   */
  next(nowMs: number): Ticket | undefined
  /** The ticket leaves its queue. */
  granted(ticket: Ticket, nowMs: number): void
  /** A request left without a ticket, while no other one waited. */
  tookFree(priority: Priority, nowMs: number): void
  /** A new block: a poll may go before its turn. */
  block(nowMs: number): void
}

const RARE_BLOCKS = 10
/** The assumed time between two blocks until two have been seen. Several blocks of one poll count as one. */
const BLOCK_MS = 2_000
const BLOCK_MS_MIN = 1_000
const BLOCK_MS_MAX = 12_000

/** @param pollMs the time between polls before their turn, at their share of the rate, while a send waits */
export function createRequestTurns(pollMs: (calls: number, nowMs: number) => number): RequestTurns {
  const queues: Readonly<Record<Priority, Ticket[]>> = {
    repair: [],
    send: [],
    evidence: [],
    poll: [],
    receipt: [],
  }
  const served = new Set<Priority>(PRIORITIES)
  let waiting = 0
  // The newest request was a guaranteed one, and a higher priority waited.
  let wentBefore = false
  // The newest request among polls and receipts was a poll.
  let wasPoll = false
  let blocks = 0
  let blockAtMs: number | undefined
  // The shortest time between two blocks: if polls get no turn, blocks seem rare.
  let blockMs: number | undefined
  let polledAtMs: number | undefined

  /**
   * The priority that has the next regular turn. Polls never end, and callers wait for receipts, so the two
   * take turns.
   */
  function highest(): Priority | undefined {
    const first = PRIORITIES.find((priority) => queues[priority].length > 0)
    return first === 'poll' && wasPoll && queues.receipt.length > 0 ? 'receipt' : first
  }

  /** The highest priority whose guaranteed request is due. `sinceMs`: the time since the last poll. */
  function guaranteed(sinceMs: number, nowMs: number): Priority | undefined {
    return PRIORITIES.find((priority) => {
      const [ticket] = queues[priority]
      if (ticket === undefined || served.has(priority)) return false
      return priority !== 'poll' || sinceMs >= pollEveryMs(ticket.calls, nowMs)
    })
  }

  /**
   * At a low rate, polls before their turn take no more than their share of the rate that sends could use.
   * Next to evidence they are not limited: a poll may show that a nonce is missing at the endpoint, and a
   * search may take long.
   */
  function pollEveryMs(size: number, nowMs: number): number {
    return queues.repair.length === 0 && queues.send.length === 0 ? 0 : pollMs(size, nowMs)
  }

  function noteServed(priority: Priority, nowMs: number): void {
    served.add(priority)
    if (priority === 'poll') polledAtMs = nowMs
    if (priority === 'poll' || priority === 'receipt') wasPoll = priority === 'poll'
  }

  return {
    get waiting() {
      return waiting
    },
    ask(ticket) {
      queues[ticket.priority].push(ticket)
      waiting++
    },
    withdraw(id) {
      for (const queue of Object.values(queues)) {
        const at = queue.findIndex((ticket) => ticket.id === id)
        if (at < 0) continue
        queue.splice(at, 1)
        waiting--
      }
    },
    next(nowMs) {
      if (waiting === 0) return undefined
      // Only polls see blocks: a poll that never had its turn would never see the block that grants it one.
      polledAtMs ??= nowMs
      const sinceMs = nowMs - polledAtMs
      if (sinceMs >= (blockMs ?? BLOCK_MS)) served.delete('poll')
      const first = (wentBefore ? undefined : guaranteed(sinceMs, nowMs)) ?? highest()
      return first && queues[first][0]
    },
    granted({ priority }, nowMs) {
      wentBefore = priority !== highest()
      queues[priority].shift()
      waiting--
      noteServed(priority, nowMs)
    },
    tookFree(priority, nowMs) {
      wentBefore = false
      noteServed(priority, nowMs)
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
  }
}
