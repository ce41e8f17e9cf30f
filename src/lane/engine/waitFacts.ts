import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { refusalOf } from '../../errors/quote.js'
import type { Book } from '../../ledger/book.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { GroupBounds } from '../queue/groups.js'
import type { Order } from '../queue/order.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { LaneFacts, TxFacts } from '../reasons/waitCause.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Funds } from '../signing/funds.js'
import type { Transaction } from '../transaction/transaction.js'
import { endedOf, receiptSaidOf, wantedOf } from '../transaction/waitingFor.js'

export type WaitFactsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'senders' | 'tracker' | 'turns'>
  readonly fees: FeeOracle
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
}

export type WaitFactsParts = {
  readonly order: Pick<Order, 'reasonFor'>
  readonly queue: PendingQueue<Transaction>
  readonly funds: Pick<Funds, 'shortWei' | 'balanceWei'>
  readonly bounds: Pick<GroupBounds, 'boundOf'>
  readonly broadcaster: Pick<Broadcaster, 'hasRoom' | 'window'>
}

/** The state of a lane and of its transactions, as far as it explains a wait. */
export type WaitFacts = {
  lane(): LaneFacts
  of(transaction: Transaction): TxFacts
}

export function createWaitFacts(context: WaitFactsContext, parts: WaitFactsParts): WaitFacts {
  const { lane, endpointPool, fees, handedOff } = context
  const { book, holds } = lane
  const { order, queue, funds, bounds, broadcaster } = parts

  function laneFacts(): LaneFacts {
    const [sender = endpointPool.reader] = endpointPool.senders()
    const first = queue.peek()
    return {
      holds: holds.list(),
      holdDetails: holds.details(),
      feesKnown: first === undefined || fees.known(first.record),
      hasRoom: broadcaster.hasRoom,
      window: { size: broadcaster.window, uncovered: book.cursor - book.coveredTo },
      shortWei: funds.shortWei,
      balanceWei: funds.balanceWei,
      head: endpointPool.tracker.head?.number,
      baseFeeWei: fees.baseFee(),
      floor: book.floor,
      lowestOpen: lowestOpenIn(book),
      lowestUncommitted: book.lowestUncommitted(),
      reader: { name: endpointPool.reader.port.name, said: endpointPool.reader.trouble?.said },
      sender: { name: sender.port.name, said: sender.gate.restReason ?? sender.trouble?.said },
    }
  }

  function factsOf(transaction: Transaction): TxFacts {
    const { id, stage, nonce, hash, unresolved, ready, notes, enqueuing } = transaction
    const refusal = notes?.refusal
    return {
      id,
      stage,
      nonce,
      hash,
      ended: endedOf(transaction),
      unresolved,
      kept: enqueuing === undefined && !handedOff.has(transaction),
      aside: order.reasonFor(transaction),
      ready,
      group: groupCause(transaction, bounds),
      behind: queue.ahead(transaction)?.id,
      slot: nonce === undefined ? undefined : book.get(nonce),
      refusal: refusal === undefined ? undefined : refusalOf(refusal),
      wanted: wantedOf(transaction),
      receiptSaid: receiptSaidOf(transaction),
    }
  }

  return { lane: laneFacts, of: factsOf }
}

/** The lowest nonce that is not covered, or whose newest attempt no endpoint has accepted. */
function lowestOpenIn(book: Book): number {
  let nonce = Math.max(book.floor, book.coveredTo)
  for (; nonce < book.cursor; nonce++) {
    const slot = book.get(nonce)
    if (slot?.state === 'used' || slot?.state === 'final') continue
    if (slot?.state !== 'live' || newestAttempt(slot)?.accepted !== true) break
  }
  return nonce
}

function groupCause(transaction: Transaction, bounds: Pick<GroupBounds, 'boundOf'>): TxFacts['group'] {
  const { group, nonce } = transaction
  if (group === undefined || nonce !== undefined) return undefined
  const bound = bounds.boundOf(transaction)
  return bound && { for: 'group', group, bound }
}
