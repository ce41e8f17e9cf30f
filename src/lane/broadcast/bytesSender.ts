import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import type { Limits, Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Transaction } from '../transaction/transaction.js'
import { type Broadcaster, createBroadcaster } from './broadcast.js'
import { createSendResults, type SendResultsParts } from './sendResults.js'

type BytesSenderContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'endpoints' | 'reader' | 'senders' | 'tracker' | 'turns'>
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly fees: FeeOracle
  readonly broadcast: 'first' | 'all'
  signer: LocalAccount | undefined
  readonly transactions: Map<string, Transaction>
  txOf(transaction: Transaction): Tx
  readonly closed: boolean
  blockedAt: number
}

/** Sends the lane's bytes to endpoints and evaluates their replies. */
export type BytesSender = Broadcaster & {
  /** Sends the same bytes again (`resend` and `backOff` of the table). */
  later(nonce: number): void
}

export function createBytesSender(
  context: BytesSenderContext,
  parts: Omit<SendResultsParts, 'broadcaster'> & {
    readonly sent: (nonce: number) => void
    readonly freed: () => void
  },
): BytesSender {
  const results = createSendResults(context, { ...parts, broadcaster: () => broadcaster })
  const broadcaster: BytesSender = Object.assign(
    createBroadcaster(context, {
      sent: parts.sent,
      freed: parts.freed,
      outcome: results.take,
      again(nonce) {
        const transaction = parts.transactionOf(nonce)
        if (transaction) context.events.emit('rebroadcast', { tx: context.txOf(transaction) })
      },
    }),
    { later: results.later },
  )
  return broadcaster
}
