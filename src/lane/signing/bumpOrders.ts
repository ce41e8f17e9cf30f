import type { Lane } from '../../allocator/lane.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { Tx } from '../../types/index.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import type { Emitter } from '../emitter.js'
import { takeRequestedBump } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { block } from './block.js'
import type { Ceilings } from './ceilings.js'
import type { FeeOracle } from './feeOracle.js'
import type { JobOf, SignOrder } from './job.js'
import { noopRequest } from './noopOrders.js'
import type { Offers } from './offers.js'

export type BumpOrdersContext = {
  readonly lane: Lane
  readonly fees: Pick<FeeOracle, 'market' | 'baseFee'>
  readonly transactions: ReadonlyMap<string, Transaction>
  readonly events: Emitter
  txOf(transaction: Transaction): Tx
  blockedAt: number
}

/**
 * Returns the function that prices a bump. Resolves to undefined if there is nothing to bump any more, or the
 * bump exceeds the ceiling.
 */
export function createBumpOrders(
  context: BumpOrdersContext,
  ceilings: Ceilings,
  offers: Pick<Offers, 'above'>,
): (job: JobOf<'bump'>) => Promise<SignOrder | undefined> {
  const { lane, fees, transactions, events } = context

  return async ({ nonce, replacementRejections }) => {
    const slot = lane.book.get(nonce)
    if (slot?.state !== 'live') return undefined
    const newest = newestAttempt(slot)
    const transaction = newest?.claim === undefined ? undefined : transactions.get(newest.claim)
    if (newest === undefined || (newest.claim !== undefined && (!transaction || isOutsideId(newest.claim))))
      return undefined
    const ceiling = transaction ? ceilings.transaction(transaction, slot) : ceilings.noop(slot)
    const requested = transaction && takeRequestedBump(transaction)
    const given = requested?.fees
    const offer = offers.above(slot, {
      market: given ?? (await fees.market(ceiling, transaction?.record.feePreset)),
      ceiling,
      replacementRejections,
      // Fees that a caller set are offered unchanged, unless the pool refused them.
      baseFee: given === undefined || replacementRejections > 0 ? fees.baseFee() : undefined,
    })
    // The limit of automatic bumps does not apply to bumps by the caller.
    if (offer === undefined || (requested === undefined && ceilings.bumpedOut(slot))) {
      if (transaction) events.emit('feeCeiling', { tx: context.txOf(transaction) })
      else block(context, nonce)
      return undefined
    }
    const request = transaction?.request ?? noopRequest(lane.key.address)
    return { claim: newest.claim, content: { request, gas: newest.gas }, offer }
  }
}
