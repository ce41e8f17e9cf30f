import type { Address } from 'viem'
import { getBalance, getBlock, getTransactionCount } from 'viem/actions'
import { readLane } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { probeEndpoint } from '../../../src/rpc/probe.js'
import type { EndpointProfile } from '../../../src/rpc/profile.js'
import { createHttpPort } from '../../../src/rpc/transports/http.js'
import type { Connection } from '../shared/connect.js'
import { type Missing, missingIn, NOTHING_MISSING } from '../shared/missing.js'
import { poolOf, type Waiting } from './pool.js'

/**
 * State of an account according to one node. Each count is the next nonce after the transactions under the
 * tag.
 */
export type Look = {
  readonly address: Address
  readonly chain: string
  readonly balanceWei: bigint
  readonly counts: Readonly<Record<'finalized' | 'safe' | 'latest' | 'pending', number | undefined>>
  readonly code: string
  readonly baseFeePerGasWei: bigint | undefined
  /** Pooled transactions in nonce order; undefined if the node does not show its pool. */
  readonly waiting: readonly Waiting[] | undefined
  /** The lowest missing nonces below the highest pooled one. */
  readonly holes: readonly number[]
  readonly holesCount: number
  /** Why the lowest pooled transaction may be stuck. */
  readonly stuck: string | undefined
  /** Known features of the endpoint; see `EndpointProfileInput`. */
  readonly endpoint: EndpointProfile
}

export async function lookAt({ client, name }: Connection, url: string, address: Address): Promise<Look> {
  const port = createHttpPort({ url, clock: systemClock })
  try {
    const countAt = (blockTag: 'finalized' | 'safe' | 'latest' | 'pending') =>
      getTransactionCount(client, { address, blockTag }).catch(() => undefined)
    const [probe, lane, balanceWei, block, pool, finalized, safe, latest, pending] = await Promise.all([
      probeEndpoint(port),
      readLane(client, { address }),
      getBalance(client, { address }),
      getBlock(client),
      poolOf(client, address),
      countAt('finalized'),
      countAt('safe'),
      countAt('latest'),
      countAt('pending'),
    ])
    const next = latest ?? lane.latest.count
    const waiting =
      pool && [...pool.values()].filter(({ nonce }) => nonce >= next).sort((a, b) => a.nonce - b.nonce)
    const holes = holesOf(next, pending ?? next, waiting)
    return {
      address,
      chain: name,
      balanceWei,
      counts: { finalized, safe, latest, pending },
      code: codeOf(lane.account),
      baseFeePerGasWei: block.baseFeePerGas ?? undefined,
      waiting,
      holes: holes.lowest,
      holesCount: holes.count,
      stuck: waiting && stuckOf(waiting, next, block.baseFeePerGas ?? undefined),
      endpoint: probe.profile.current(),
    }
  } finally {
    port.close()
  }
}

function codeOf(account: Awaited<ReturnType<typeof readLane>>['account']): string {
  if (account.kind === 'delegated')
    return `delegated to ${account.to} (EIP-7702): pools accept few of its transactions at once`
  return account.kind === 'plain' ? 'none' : account.kind
}

/** Pre-confirmed nonces have no pooled transaction, and are not holes. */
export function holesOf(
  latest: number,
  pending: number,
  waiting: readonly Pick<Waiting, 'nonce'>[] | undefined,
): Missing {
  const nonces = (waiting ?? []).map(({ nonce }) => nonce)
  const top = nonces.at(-1)
  if (top === undefined) return NOTHING_MISSING
  return missingIn(Math.max(latest, nonces.includes(latest) ? latest : pending), top, nonces)
}

function stuckOf(
  waiting: readonly Waiting[],
  latest: number,
  baseFee: bigint | undefined,
): string | undefined {
  const [head] = waiting
  if (head === undefined) return undefined
  if (head.nonce > latest) return `nonce ${latest} is missing: higher nonces cannot be executed`
  if (baseFee !== undefined && head.maxFeePerGas < baseFee) {
    return `nonce ${head.nonce} offers ${head.maxFeePerGas} wei per gas, but the base fee is ${baseFee}`
  }
  return undefined
}
