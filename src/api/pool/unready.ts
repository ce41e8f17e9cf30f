import { getAddress } from 'viem'
import { readBalances } from '../../chain/endpoints/balances.js'
import { feeCap } from '../../ledger/fees.js'
import type { OpenLane } from '../../ownership/open.js'
import type { HealthReason } from '../../types/index.js'

/** The gas of a plain transfer without data and access list, which is the minimum of any transaction. */
const TRANSFER_GAS = 21_000n

/**
 * Finds two conditions that operators would otherwise notice too late, and logs them: accounts of the pool that
 * cannot pay for a transfer, and unfinished transactions of other accounts that no process serves.
 */
export async function findUnready(lanes: readonly OpenLane[]): Promise<HealthReason[]> {
  const [first] = lanes
  if (first === undefined) return []
  const found = await Promise.all([findEmpty(lanes, first), findUnserved(lanes, first)])
  return reported(found.flat())
}

function reported(found: readonly Found[]): HealthReason[] {
  return found.map(({ lane: { log, key }, ...reason }) => {
    const { sentence, address } = reason
    log.logger.warn({ chainId: key.chainId, address, reason: reason.for }, sentence)
    log.notice(`${address} on chain ${key.chainId}: ${sentence}`)
    return reason
  })
}

type Found = HealthReason & { readonly lane: OpenLane }

async function findEmpty(lanes: readonly OpenLane[], { endpointPool, limits }: OpenLane): Promise<Found[]> {
  const neededWei = transferWei(lanes)
  // Without a known price the required balance is unknown: it may be zero.
  if (neededWei === undefined) return []
  const addresses = lanes.map(({ key }) => key.address)
  const balances = await readBalances(endpointPool.reader.port, addresses, {
    timeoutMs: limits.readTimeoutMs,
  })
  return lanes.flatMap((lane, index) => {
    const balanceWei = balances[index]
    if (balanceWei === undefined || balanceWei >= neededWei) return []
    const sentence = `The account has ${balanceWei} wei, and a transfer may take ${neededWei} wei. It sends when it has more.`
    return [{ for: 'empty', address: getAddress(lane.key.address), sentence, operator: true, lane }]
  })
}

/** The cost of a transfer at the price that its first attempt would offer now, in wei. */
function transferWei(lanes: readonly OpenLane[]): bigint | undefined {
  for (const { ownership } of lanes) {
    const fees = ownership.engine?.context.fees.last()
    if (fees) return TRANSFER_GAS * feeCap(fees)
  }
  return undefined
}

async function findUnserved(lanes: readonly OpenLane[], first: OpenLane): Promise<Found[]> {
  const own = new Set(lanes.map(({ key: { address } }) => address))
  const unfinished = await first.store.unfinished(first.key)
  const unserved = unfinished.filter(
    ({ lane: { address }, isHeld }) => !isHeld && !own.has(address) && !first.isOpen(address),
  )
  return unserved.map(({ lane: { address }, transactions }) => {
    const what = transactions === 1 ? '1 transaction waits' : `${transactions} transactions wait`
    const sentence = `${what} in the store, and no process serves this account. A sender or a pool that has its key continues the work.`
    return {
      for: 'unserved',
      transactions,
      address: getAddress(address),
      sentence,
      operator: true,
      lane: first,
    }
  })
}
