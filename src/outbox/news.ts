import type { StoredDelivery, ToldStage } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import type { DeliveryStage, OutboxStage } from './types.js'

/** What decides which news there are. */
export type Reached = Pick<StoredTransaction, 'stage' | 'life' | 'block' | 'verdict'>

// The way of a transaction that executes.
const EXECUTED: readonly OutboxStage[] = ['sealed', 'settled', 'finalized']
const ENDED: ReadonlySet<string> = new Set<OutboxStage>(['failed', 'cancelled', 'superseded'])

/** How far it is on that way: 0 where no sealed block has it. */
function depthOf({ stage, verdict }: Reached): number {
  if (stage === 'finalized') return 3
  if (stage !== 'sealed' && stage !== 'safe') return 0
  return verdict === 'landed' ? 2 : 1
}

const depthTold = ({ stage }: ToldStage) => EXECUTED.indexOf(stage as OutboxStage) + 1

/**
 * The next thing to tell of a transaction, after what was told of it. On its way up no stage is left out, however far it
 * is by now. What was told and is not so any more is taken back: by the stage that it has now, where that is wanted, else
 * by `reorged`.
 */
function newsOf(
  toldBefore: ToldStage | undefined,
  record: Reached,
  wanted: ReadonlySet<OutboxStage>,
): ToldStage | undefined {
  const life = record.life ?? 0
  // What was told of an earlier life of the id says nothing of this one.
  const told = toldBefore?.life === life ? toldBefore : undefined
  const depth = depthOf(record)
  const block = record.block?.hash
  const of = (stage: DeliveryStage): ToldStage =>
    depth > 0 && block !== undefined ? { stage, life, block } : { stage, life }

  if (depth > 0) {
    const isElsewhere = told?.block !== undefined && block !== undefined && told.block !== block
    const from = told === undefined || isElsewhere ? 0 : depthTold(told)
    const next = EXECUTED.slice(from, depth).find((stage) => wanted.has(stage))
    if (next) return of(next)
    const isWrong = told !== undefined && (ENDED.has(told.stage) || (isElsewhere && depthTold(told) > depth))
    return isWrong ? of('reorged') : undefined
  }
  if (ENDED.has(record.stage)) {
    if (told?.stage === record.stage) return undefined
    if (wanted.has(record.stage as OutboxStage)) return of(record.stage as OutboxStage)
  }
  const isTakenBack = told !== undefined && told.stage !== 'reorged'
  return isTakenBack ? of('reorged') : undefined
}

export function isSameNews(a: ToldStage | undefined, b: ToldStage | undefined): boolean {
  return a?.stage === b?.stage && a?.life === b?.life && a?.block === b?.block
}

/** It was heard, or may have been: from here on it counts as told. */
export function withHeard({ chain, id, next, told, count }: StoredDelivery): StoredDelivery {
  const heard = next ?? told
  return { chain, id, state: 'told', ...(heard && { told: heard }), count: count + 1, tries: 0 }
}

/**
 * The delivery as it is by the newest record: the same object where nothing is to be written. News that may have been
 * heard and that is not so any more counts as told, so that it is taken back.
 */
export function advance(
  delivery: StoredDelivery,
  record: Reached,
  wanted: ReadonlySet<OutboxStage>,
): StoredDelivery {
  const { next, told } = delivery
  const news = newsOf(told, record, wanted)
  if (next !== undefined && !isSameNews(news, next)) return advance(withHeard(delivery), record, wanted)
  if (next !== undefined) return delivery
  if (news !== undefined) return { ...delivery, state: 'open', next: news }
  return delivery.state === 'told' ? delivery : { ...delivery, state: 'told' }
}
