import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { lastClaim, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { GroupPolicy } from '../../types/index.js'
import { mostGas } from '../../validate/gasBounds.js'
import type { Transaction } from '../transaction/transaction.js'
import { type GroupCounts, GroupTally, shareOf } from './groups.js'
import { openMove } from './openMove.js'
import type { PendingQueue } from './pendingQueue.js'

/**
 * Bounds the transactions in flight that name a group. Groups share the room in blocks; they must not share
 * the transaction pool of a node, because a transaction that is in the pool already goes before every later
 * one.
 * All groups together have at most the gas of one block in flight. `inFlightMax` bounds a single group
 * further. All lanes of a sender pool count together.
 */
export type GroupBounds = GroupCounts & {
  /**
   * Whether the transaction may take a nonce now. Full groups are not checked here: the pending queue holds
   * them back.
   */
  admits(transaction: Transaction): boolean
  /** The bound that keeps the transaction from taking a nonce now. */
  boundOf(transaction: Transaction): 'inFlightMax' | 'blockGas' | undefined
  /** Closes each full group that is at the head of the pending queue. */
  closeFull(): void
  /** Reopens the groups for which other lanes of the sender pool have made room. */
  reopen(): void
  /** Counts the transaction that takes this nonce. */
  reserved(nonce: number, transaction: Transaction): void
  /** A slot changed. Its gas counts while the slot is open. */
  moved(nonce: number, before: Slot | undefined, after: Slot): void
}

type Use = { readonly gas: number; readonly group: string | undefined }

export function createGroupBounds(
  context: {
    readonly endpointPool: Pick<EndpointPool, 'chain' | 'tracker'>
    readonly transactions: Map<string, Transaction>
  },
  options: {
    readonly policy: GroupPolicy | undefined
    readonly queue: Pick<PendingQueue<Transaction>, 'peek' | 'close' | 'reopen' | 'closed'>
    /** All lanes of the sender pool in this process, including this lane. */
    readonly lanes: () => readonly GroupCounts[]
    /** Number of transactions of a group that wait for a nonce in this lane. */
    readonly queued: GroupCounts['queued']
  },
): GroupBounds {
  const { policy, queue, lanes } = options
  const uses = new NonceMap<Use>()
  const tally = new GroupTally()
  let gasInFlight = 0

  function set(nonce: number, use: Use | undefined): void {
    const was = uses.get(nonce)
    gasInFlight += (use?.gas ?? 0) - (was?.gas ?? 0)
    tally.add(was?.group, -1)
    tally.add(use?.group, 1)
    if (use === undefined) uses.delete(nonce)
    else uses.set(nonce, use)
    if (was?.group !== undefined && was.group !== use?.group) reopen(was.group)
  }

  function isFull(group: string): boolean {
    const { inFlightMax } = shareOf(policy, group)
    if (inFlightMax === Number.POSITIVE_INFINITY) return false
    return lanes().reduce((sum, lane) => sum + lane.inFlight(group), 0) >= inFlightMax
  }

  /** A transaction that needs more gas than a block has may go only while no other one is in flight. */
  function fitsBlock(transaction: Transaction): boolean {
    if (transaction.group === undefined) return true
    const { chain, tracker } = context.endpointPool
    const block = mostGas(chain, tracker.newest)
    if (block === undefined) return true
    const others = lanes().reduce((sum, lane) => sum + lane.gasInFlight, 0)
    return others === 0 || others + gasOf(transaction) <= Number(block)
  }

  function reopen(group: string): void {
    if (queue.closed.has(group) && !isFull(group)) queue.reopen(group)
  }

  return {
    get gasInFlight() {
      return gasInFlight
    },
    inFlight: tally.of,
    queued: options.queued,
    admits: fitsBlock,
    boundOf(transaction) {
      if (transaction.group !== undefined && isFull(transaction.group)) return 'inFlightMax'
      return fitsBlock(transaction) ? undefined : 'blockGas'
    },
    closeFull() {
      if (policy === undefined) return
      for (let first = queue.peek(); first?.group !== undefined && isFull(first.group); first = queue.peek())
        queue.close(first.group)
    },
    reopen() {
      for (const group of queue.closed) reopen(group)
    },
    reserved: (nonce, transaction) => set(nonce, { gas: gasOf(transaction), group: transaction.group }),
    moved(nonce, before, after) {
      const move = openMove(before, after)
      if (move === 'over') return set(nonce, undefined)
      if (move === 'same') return
      const claim = lastClaim(after)
      const transaction = claim === undefined ? undefined : context.transactions.get(claim)
      set(nonce, { gas: Number(newestAttempt(after)?.gas ?? 0n), group: transaction?.group })
    },
  }
}

function gasOf({ record: { gas, request } }: Transaction): number {
  return Number(gas ?? request.gas ?? 0n)
}
