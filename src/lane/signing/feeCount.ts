import type { TransactionReceipt } from 'viem'
import type { SealedBlock } from '../../chain/blocks/follower.js'
import type { Book } from '../../ledger/book.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Attempt, Slot, Used } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { openMove } from '../queue/openMove.js'
import { attemptFees } from './cost.js'
import type { FeeOracle } from './feeOracle.js'
import { createOpenCosts, mostOf } from './openCosts.js'
import type { Spending } from './spending.js'

/** Counts the fees of each nonce: the maximum in flight, and the amount in `Spending` once it landed. */
export type FeeCount = {
  /** Maximum fees of everything in flight, in wei. */
  readonly inFlightWei: bigint
  /** A nonce was reserved for a transaction with at most these fees. */
  reserved(nonce: number, feesWei: bigint): void
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  /** The block of the `moved` calls that follow. */
  sealing(block: SealedBlock): void
  /** A valid receipt was read. */
  receipt(receipt: TransactionReceipt): void
  /** Landed transactions no longer count, transactions in flight do. */
  forgetLanded(): void
  /** Forgets everything. */
  clear(): void
}

type Landed = { readonly minute: number; readonly wei: bigint }

export function createFeeCount(
  context: { readonly fees: FeeOracle; readonly clock: Pick<Clock, 'now'> },
  book: Book,
  spending: Pick<Spending, 'add' | 'correct'>,
): FeeCount {
  const { clock } = context
  const costOf = (attempt: Attempt) => attemptFees(context, attempt)
  let open = createOpenCosts(costOf)
  let landed = new NonceMap<Landed>()
  let block: SealedBlock | undefined

  /**
   * Called again for the final outcome, and if the nonce turns out to have been used by another transaction.
   */
  function land(nonce: number, before: Slot | undefined, slot: Used): void {
    const known = landed.get(nonce)
    if (before?.state !== 'used') {
      const wei = spentBy(slot)
      landed.set(nonce, { minute: spending.add(wei, clock.now()), wei })
    } else if (known !== undefined && !isSameUse(before, slot)) correct(nonce, known, spentBy(slot))
  }

  /** The fees at the gas limit. A foreign transaction cost this account nothing. */
  function spentBy(slot: Used): bigint {
    if (slot.by.kind === 'unproven') return mostOf(slot.attempts, costOf)
    const attempt = slot.attempts.find(({ hash }) => hash === hashOf(slot))
    const baseFee = slot.at?.hash === block?.hash ? block?.baseFeePerGas : undefined
    return attempt === undefined ? 0n : attemptFees(context, attempt, baseFee)
  }

  function correct(nonce: number, { minute, wei }: Landed, now: bigint): void {
    spending.correct(minute, now - wei)
    landed.set(nonce, { minute, wei: now })
  }

  function takeBack(nonce: number): void {
    const known = landed.get(nonce)
    if (known === undefined) return
    spending.correct(known.minute, -known.wei)
    landed.delete(nonce)
  }

  return {
    get inFlightWei() {
      return open.totalWei
    },
    reserved: (nonce, feesWei) => open.reserved(nonce, feesWei),
    moved(nonce, before, slot) {
      if (slot.state === 'reserved') return
      if (slot.state !== 'used' && slot.state !== 'final') takeBack(nonce)
      open.moved(nonce, before, slot)
      if (openMove(before, slot) !== 'over') return
      if (slot.state === 'used') land(nonce, before, slot)
      else landed.delete(nonce)
    },
    sealing(next) {
      block = next
    },
    receipt({ transactionHash, blockHash, ...receipt }) {
      const nonce = book.nonceOf(transactionHash)
      const known = nonce === undefined ? undefined : landed.get(nonce)
      if (nonce === undefined || known === undefined) return
      const slot = book.get(nonce)
      const wei = paidIn(receipt)
      if (slot?.state !== 'used' || slot.at?.hash !== blockHash || wei === undefined) return
      correct(nonce, known, wei)
    },
    forgetLanded() {
      landed = new NonceMap()
    },
    clear() {
      open = createOpenCosts(costOf)
      landed = new NonceMap()
    },
  }
}

const hashOf = ({ by }: Used) => (by.kind === 'unproven' ? undefined : by.hash)

function isSameUse(one: Used, other: Used): boolean {
  return hashOf(one) === hashOf(other) && one.at?.hash === other.at?.hash
}

const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/**
 * The fees in a receipt. The OP stack adds `l1Fee`: a bigint if viem's chain definition parses it, otherwise
 * the node's hex string.
 */
function paidIn(receipt: object): bigint | undefined {
  const { gasUsed, effectiveGasPrice, l1Fee } = receipt as Record<string, unknown>
  if (typeof gasUsed !== 'bigint' || typeof effectiveGasPrice !== 'bigint') return undefined
  const isWritten = typeof l1Fee === 'string' && QUANTITY.test(l1Fee)
  return gasUsed * effectiveGasPrice + (typeof l1Fee === 'bigint' || isWritten ? BigInt(l1Fee) : 0n)
}
