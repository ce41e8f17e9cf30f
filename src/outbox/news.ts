import type { DeliveredStage, StoredDelivery } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import type { DeliveryStage, OutboxStage } from './types.js'

/** The fields that determine the next delivery. */
export type Reached = Pick<StoredTransaction, 'stage' | 'life' | 'block' | 'verdict'>

// The stages of a transaction that executes.
const EXECUTED: readonly OutboxStage[] = ['sealed', 'settled', 'finalized']
const ENDED: ReadonlySet<string> = new Set<OutboxStage>(['failed', 'cancelled', 'superseded'])

/** The position among these stages; 0 if no sealed block contains the transaction. */
function depthOf({ stage, verdict }: Reached): number {
  if (stage === 'finalized') return 3
  if (stage !== 'sealed' && stage !== 'safe') return 0
  return verdict === 'landed' ? 2 : 1
}

const depthDelivered = ({ stage }: DeliveredStage) => EXECUTED.indexOf(stage as OutboxStage) + 1

/**
 * The next stage to deliver after the delivered ones. On the way up no stage is skipped, however far the
 * transaction is by now. A delivered stage that no longer holds is withdrawn: by the current stage if it is
 * wanted, else by `reorged`.
 */
function newsOf(
  before: DeliveredStage | undefined,
  record: Reached,
  wanted: ReadonlySet<OutboxStage>,
): DeliveredStage | undefined {
  const life = record.life ?? 0
  // Deliveries from before a restart of the id do not count.
  const delivered = before?.life === life ? before : undefined
  const depth = depthOf(record)
  const block = record.block?.hash
  const of = (stage: DeliveryStage): DeliveredStage =>
    depth > 0 && block !== undefined ? { stage, life, block } : { stage, life }

  if (depth > 0) {
    const isElsewhere = delivered?.block !== undefined && block !== undefined && delivered.block !== block
    const from = delivered === undefined || isElsewhere ? 0 : depthDelivered(delivered)
    const next = EXECUTED.slice(from, depth).find((stage) => wanted.has(stage))
    if (next) return of(next)
    const isWrong =
      delivered !== undefined &&
      (ENDED.has(delivered.stage) || (isElsewhere && depthDelivered(delivered) > depth))
    return isWrong ? of('reorged') : undefined
  }
  if (ENDED.has(record.stage)) {
    if (delivered?.stage === record.stage) return undefined
    if (wanted.has(record.stage as OutboxStage)) return of(record.stage as OutboxStage)
  }
  const isTakenBack = delivered !== undefined && delivered.stage !== 'reorged'
  return isTakenBack ? of('reorged') : undefined
}

export function isSameNews(a: DeliveredStage | undefined, b: DeliveredStage | undefined): boolean {
  return a?.stage === b?.stage && a?.life === b?.life && a?.block === b?.block
}

/** The receiver has seen `next`, or may have: from here on it counts as delivered. */
export function asDelivered({ chain, id, next, delivered, count }: StoredDelivery): StoredDelivery {
  const last = next ?? delivered
  return { chain, id, state: 'delivered', ...(last && { delivered: last }), count: count + 1, tries: 0 }
}

/** The delivery without its failures. */
export function reopened({ chain, id, delivered, next, count }: StoredDelivery): StoredDelivery {
  return { chain, id, state: 'open', ...(delivered && { delivered }), ...(next && { next }), count, tries: 0 }
}

/**
 * The delivery after the newest record; the same object if there is nothing to write. If the receiver may
 * have seen a stage that no longer holds, it counts as delivered, so that it is withdrawn.
 */
export function advance(
  delivery: StoredDelivery,
  record: Reached,
  wanted: ReadonlySet<OutboxStage>,
): StoredDelivery {
  const { next, delivered } = delivery
  const news = newsOf(delivered, record, wanted)
  if (next !== undefined && !isSameNews(news, next)) return advance(asDelivered(delivery), record, wanted)
  if (next !== undefined) return delivery
  if (news !== undefined) return { ...delivery, state: 'open', next: news }
  return delivery.state === 'delivered' ? delivery : { ...delivery, state: 'delivered' }
}
