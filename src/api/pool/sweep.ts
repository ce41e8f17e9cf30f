import type { Address } from 'viem'
import { decoded } from '../../chain/blocks/tickParts.js'
import { ENVELOPE_BYTES } from '../../lane/signing/cost.js'
import { feeCap } from '../../ledger/fees.js'
import { balanceCall, decodeQuantity } from '../../rpc/codec.js'
import type { Member } from '../sender/member.js'

/** Times what the transfer may cost at first: so much stays, for bumps. */
const MARGIN = 3n

/**
 * Sends what an account has left, but for what the transfer may cost, to another one. Resolves once that is in a sealed
 * block, or at once where nothing would be left.
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
  // An account that has not even one wei cannot be estimated for either.
  if (balanceWei === undefined || gas === undefined) return
  const value = balanceWei - MARGIN * (gas * feeCap(fees) + context.fees.dataFee(ENVELOPE_BYTES))
  if (value <= 0n) return
  // The nonce is part of the id: whoever is asked once more after a crash names the same transfer.
  const id = `txlane:sweep:${key.address}:${context.lane.book.cursor}`
  const { tx } = await member.start({ to, value, gas }, { id })
  await tx.wait('sealed')
}
