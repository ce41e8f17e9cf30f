import type { Address } from 'viem'
import { decoded } from '../../chain/blocks/tickParts.js'
import { ENVELOPE_BYTES } from '../../lane/signing/cost.js'
import { feeCap } from '../../ledger/fees.js'
import { balanceCall, decodeQuantity } from '../../rpc/codec.js'
import type { Member } from '../sender/member.js'

/** The account keeps this multiple of the initial maximum cost of the transfer, so that the transfer can be bumped. */
const MARGIN = 3n

/**
 * Sends the rest of an account's balance to another address, minus a reserve for the cost of the transfer. Resolves
 * once the transfer is in a sealed block, or at once if the balance does not exceed the reserve.
 *
 * @throws `LEASE_LOST` while another process holds the account's lane
 */
export async function sweep(member: Member, to: Address): Promise<void> {
  const { ownership, key, endpointPool, limits } = await member.warm()
  const { context } = await ownership.hold()
  const fees = await context.fees.market()
  const [balance, estimate] = await endpointPool.reader.port.batch(
    [
      balanceCall(key.address),
      { method: 'eth_estimateGas', params: [{ from: key.address, to, value: '0x1' }] },
    ],
    { timeoutMs: limits.readTimeoutMs },
  )
  const balanceWei = decoded(balance, decodeQuantity)
  const gas = decoded(estimate, decodeQuantity)
  // Without a single wei the gas cannot be estimated either.
  if (balanceWei === undefined || gas === undefined) return
  const value = balanceWei - MARGIN * (gas * feeCap(fees) + context.fees.dataFee(ENVELOPE_BYTES))
  if (value <= 0n) return
  // The id contains the nonce, so that a repeated call after a crash names the same transfer.
  const id = `txlane:sweep:${key.address}:${context.lane.book.cursor}`
  const { tx } = await member.start({ to, value, gas }, { id })
  await tx.wait('sealed')
}
