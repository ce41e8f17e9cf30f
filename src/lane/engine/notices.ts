import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import type { HoldReason } from '../../types/index.js'
import type { WaitReason } from '../../types/wait.js'
import { holdLift } from '../reasons/sentence.js'

type NoticesContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly clock: Clock
  readonly notice: (sentence: string) => void
}

/** Writes a notice once for each state that only an operator can end, together with the way to end it. */
export type Notices = {
  /** `alarming`: the reason of a transaction that has waited for an operator for long, if there is one. */
  check(alarming: WaitReason | undefined): void
}

/** A hold that lifts by itself before this time is not worth a line. */
const HOLD_MS = 2_000
/** An endpoint may restart, or lose its network for a moment. */
const ENDPOINT_MS = 10_000

type Notice = { readonly afterMs: number; readonly sentence: string }

export function createNotices(context: NoticesContext): Notices {
  const { lane, endpointPool, clock, notice } = context
  // The time since which each topic persists; `Infinity` once its notice was written.
  const sinceMs = new Map<string, number>()

  function current(alarming: WaitReason | undefined): ReadonlyMap<string, Notice> {
    const found = new Map<string, Notice>()
    const details = lane.holds.details()
    for (const hold of lane.holds.list()) {
      const lift = holdLift(hold, details[hold])
      if (lift !== undefined) found.set(topicOf(hold), { afterMs: HOLD_MS, sentence: lift })
    }
    // This wait is long already.
    if (alarming?.for === 'funds')
      found.set('money', {
        afterMs: 0,
        sentence: `${alarming.sentence} It goes on when the account has more money.`,
      })
    const { trouble, port } = endpointPool.reader
    if (trouble)
      found.set(`endpoint ${port.name}`, {
        afterMs: ENDPOINT_MS,
        sentence: `The endpoint ${port.name} answers nothing of use; it said: "${trouble.said}". The lane goes on when it answers; \`endpoints\` can name others.`,
      })
    return found
  }

  return {
    check(alarming) {
      const now = clock.now()
      const found = current(alarming)
      for (const topic of sinceMs.keys()) if (!found.has(topic)) sinceMs.delete(topic)
      for (const [topic, { afterMs, sentence }] of found) {
        const since = sinceMs.get(topic) ?? now
        sinceMs.set(topic, since)
        if (now - since < afterMs) continue
        sinceMs.set(topic, Number.POSITIVE_INFINITY)
        notice(`${lane.key.address} on chain ${lane.key.chainId}: ${sentence}`)
      }
    },
  }
}

/** A lane without money shows that as a hold, or as the wait of a transaction. */
const topicOf = (hold: HoldReason) => (hold === 'starved' ? 'money' : hold)
