import type { LaneContext } from '../context.js'
import { type Broadcaster, createBroadcaster } from './broadcast.js'
import { createOutcomes, type OutcomesParts } from './outcomes.js'

/** A lane's bytes on their way to endpoints, and what those say of them. */
export type BytesSender = Broadcaster & {
  /** The same bytes again (`resend` and `backOff` of the table). */
  later(nonce: number): void
}

export function createBytesSender(
  context: LaneContext,
  parts: Omit<OutcomesParts, 'broadcaster'> & {
    readonly sent: (nonce: number) => void
    readonly freed: () => void
  },
): BytesSender {
  const outcomes = createOutcomes(context, { ...parts, broadcaster: () => broadcaster })
  const broadcaster: BytesSender = Object.assign(
    createBroadcaster(context, {
      sent: parts.sent,
      freed: parts.freed,
      outcome: outcomes.take,
      again(nonce) {
        const transaction = parts.transactionOf(nonce)
        if (transaction) context.events.emit('rebroadcast', { tx: context.txOf(transaction) })
      },
    }),
    { later: outcomes.later },
  )
  return broadcaster
}
