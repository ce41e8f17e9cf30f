import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Limits } from '../../types/index.js'
import type { GroupBounds } from '../queue/groups.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Signing } from './signing.js'

export type ReservationGateContext = {
  readonly lane: Pick<Lane, 'holds'>
  readonly limits: Pick<Limits, 'signMax'>
  readonly signer: LocalAccount | undefined
  readonly closed: boolean
}

export type ReservationGateParts = {
  readonly signing: Pick<Signing, 'signatures' | 'open'>
  /** The bounds of transactions in flight per group. */
  readonly bounds: Pick<GroupBounds, 'admits'>
  /** Whether the transaction may take the next nonce now. Some transactions have to go alone. */
  readonly admits: (transaction: Transaction) => boolean
  /** Whether one more nonce may be assigned. */
  readonly hasRoom: () => boolean
}

/** Per concurrent signature, this many may wait for the journal, which takes all of them in one write. */
const UNJOURNALED = 8

/** Returns the function that says whether the lane may reserve a nonce for a transaction now. */
export function createReservationGate(
  context: ReservationGateContext,
  parts: ReservationGateParts,
): (transaction: Transaction) => boolean {
  const { signing, bounds } = parts
  const { holds } = context.lane
  const { signMax } = context.limits

  return (transaction) =>
    parts.admits(transaction) &&
    bounds.admits(transaction) &&
    !holds.any &&
    !context.closed &&
    // A lane that an allocator opened has no key until a sender joins it.
    context.signer !== undefined &&
    signing.signatures < signMax &&
    signing.open < UNJOURNALED * signMax &&
    parts.hasRoom()
}
