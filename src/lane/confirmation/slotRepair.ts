import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { type Live, newestAttempt, type Slot } from '../../ledger/slot.js'
import { block } from '../signing/orders.js'
import type { Signing } from '../signing/signing.js'
import { describeAboveCeiling } from '../transaction/dear.js'

export type SlotRepairContext = {
  readonly lane: Lane
  signer: LocalAccount | undefined
  blockedAt: number
}

type SlotRepairParts = {
  readonly context: SlotRepairContext
  readonly signing: Pick<Signing, 'ceilings'>
  /** Outside code signed the newest attempt. */
  readonly isOutside: (slot: Live) => boolean
  /** The offer covers the base fee. */
  readonly priced: (slot: Live) => boolean
}

/** This lane cannot outbid a transaction that outside code signed. */
const NOT_OURS = { atCeiling: false, fillable: false, aboveCeiling: undefined }

/** Asks the table to repair a slot that made no progress (rows 19 and 20). */
export function createSlotRepair({ context, signing, isOutside, priced }: SlotRepairParts) {
  const { lane } = context

  /** `byTime`: the repair is due by time, and no block shows a lack of progress. */
  return (slot: Slot, head: boolean, byTime: boolean): void => {
    const signer = context.signer !== undefined
    const event = { type: 'stuck' as const, head, signer, token: lane.token() }
    if (slot.state === 'outside') {
      lane.apply(slot.nonce, { ...event, atCeiling: false, priced: true, fillable: true })
    } else if (slot.state === 'live') {
      const outside = isOutside(slot)
      const newest = newestAttempt(slot)
      // A covered nonce is checked only because blocks prefer other transactions to it, so its price is
      // too low.
      const isPriced = slot.nonce >= lane.book.coveredTo && priced(slot)
      // Without blocks nothing shows that the price is too low, so only the same bytes are sent again.
      const mayBid = !byTime || !isPriced || slot.refusals > 0
      const { aboveCeiling, ...ceilings } = outside || byTime ? NOT_OURS : signing.ceilings(slot)
      // A no-op that no endpoint accepts and that cannot offer more is only sent again, and nothing lands
      // above it.
      if (newest && newest.claim === undefined && ceilings.atCeiling && !newest.accepted)
        block(context, slot.nonce, aboveCeiling && describeAboveCeiling(aboveCeiling))
      // Bytes that outside code signed can only be sent again, not bumped.
      lane.apply(slot.nonce, {
        ...event,
        ...ceilings,
        priced: isPriced,
        signer: signer && mayBid && !outside,
      })
    }
  }
}
