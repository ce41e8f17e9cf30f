import type { Address } from 'viem'
import { quoteOf } from '../../errors/quote.js'
import type { LaneHealth, LaneReason } from '../../lane/engine/health.js'
import type { OpenOnce } from '../../ownership/openOnce.js'
import type { Health, HealthReason } from '../../types/index.js'

/** The health of one sender. `lane`: the health of its lane, if the lane is open. */
export function healthOf(parts: {
  readonly address: Address
  readonly lane: LaneHealth | undefined
  readonly opening: Pick<OpenOnce<unknown>, 'failed'>
  readonly isClosed: boolean
}): Health {
  const { address, lane, opening, isClosed } = parts
  const found: readonly LaneReason[] = isClosed ? [CLOSED] : (lane?.reasons ?? [notOpen(opening)])
  const reasons = found.map((reason): HealthReason => ({ ...reason, address })).sort(byGravity)
  return {
    live: !reasons.some(({ stops }) => stops === 'live'),
    ready: !reasons.some(({ stops }) => stops !== undefined),
    inFlight: lane?.inFlight ?? 0,
    queued: lane?.queued ?? 0,
    reasons,
  }
}

/** The health of several senders that share their work: if one sender cannot take a transaction, another one does. */
export function healthOfAll(
  all: readonly Health[],
  taking: readonly Health[],
  unready: readonly HealthReason[],
): Health {
  const sum = (of: (health: Health) => number) => all.reduce((total, health) => total + of(health), 0)
  return {
    live: all.every(({ live }) => live),
    ready: taking.some(({ ready }) => ready),
    inFlight: sum(({ inFlight }) => inFlight),
    queued: sum(({ queued }) => queued),
    reasons: [...all.flatMap(({ reasons }) => reasons), ...unready].sort(byGravity),
  }
}

const CLOSED: LaneReason = {
  for: 'closed',
  sentence: 'The sender is closed.',
  operator: false,
  stops: 'ready',
}

function notOpen({ failed }: Pick<OpenOnce<unknown>, 'failed'>): LaneReason {
  if (failed === undefined) {
    const sentence = 'The lane is not open yet: `ready()`, or the first call that needs it, opens it.'
    return { for: 'opening', sentence, operator: false, stops: 'ready' }
  }
  const { error, sinceMs } = failed
  const said = quoteOf(error instanceof Error ? error : String(error))
  const sentence = `The lane could not be opened, and the next call tries again: ${said}`
  return { for: 'opening', said, sinceMs, sentence, operator: false, stops: 'ready' }
}

const GRAVITY = ['live', 'ready', undefined]

function byGravity(one: HealthReason, other: HealthReason): number {
  return GRAVITY.indexOf(one.stops) - GRAVITY.indexOf(other.stops)
}
