import {
  type Address,
  type Chain,
  type Client,
  type Hash,
  type Hex,
  type HttpTransport,
  hexToBigInt,
  hexToNumber,
} from 'viem'
import { getBalance, getBlock, getTransactionCount } from 'viem/actions'
import { hasSingleSequencer } from '../../../src/chain/endpoints/endpointPool.js'
import { readLane } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { probeMethods, probeTraits } from '../../../src/rpc/methods/probeTraits.js'
import type { Port } from '../../../src/rpc/port.js'
import { probeEndpoint } from '../../../src/rpc/probe.js'
import {
  createProfile,
  type EndpointProfile,
  type ProfileWatch,
  setProfile,
} from '../../../src/rpc/profile.js'
import { probeSendSync } from '../../../src/rpc/sendSync.js'
import { createHttpPort } from '../../../src/rpc/transports/http.js'
import type { Connection } from '../shared/connect.js'
import { type Missing, missingIn, NOTHING_MISSING } from '../shared/missing.js'

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
    const profile = createProfile({ singleSequencer: hasSingleSequencer(client.chain) || undefined })
    const [, lane, balanceWei, block, pool, finalized, safe, latest, pending] = await Promise.all([
      probeAll(port, profile),
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
      endpoint: profile.current(),
    }
  } finally {
    port.close()
  }
}

const PROBE_MS = 10_000

/** The behaviour that one endpoint shows without a transaction. */
async function probeAll(port: Port, profile: ProfileWatch): Promise<void> {
  setProfile(port, profile)
  const { latest } = await probeEndpoint(port, { profile })
  await Promise.all([
    probeTraits(port, profile, latest.number).catch(() => {}),
    probeMethods(port, profile, latest.number),
    probeSendSync(port, PROBE_MS).then((usable) => {
      if (usable !== undefined) profile.observe({ kind: 'sendSync', usable })
    }),
  ])
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

/** A transaction in the node's pool. */
export type Waiting = {
  readonly nonce: number
  readonly hash: Hash
  readonly to: Address | null
  readonly value: bigint
  readonly input: Hex
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly type: Hex
}

type Rpc = Client<HttpTransport, Chain>

type PoolAnswer = Readonly<Record<'pending' | 'queued', Readonly<Record<string, RawWaiting>> | undefined>>
type RawWaiting = Readonly<
  Record<'hash' | 'to' | 'value' | 'input' | 'gas' | 'gasPrice' | 'type', string | undefined>
> & {
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
}

/**
 * An account's transactions in the pool, by nonce; undefined if the node does not show its pool. geth and
 * reth serve `txpool_contentFrom` (geth docs, txpool namespace); most hosted endpoints do not.
 */
export async function poolOf(
  client: Rpc,
  address: Address,
): Promise<ReadonlyMap<number, Waiting> | undefined> {
  try {
    const answer = (await client.request({
      method: 'txpool_contentFrom',
      params: [address],
    } as never)) as PoolAnswer
    const all = [answer.pending ?? {}, answer.queued ?? {}].flatMap((part) => Object.entries(part))
    const numbered = all.map(([nonce, raw]) => [Number(nonce), raw] as const)
    return new Map(numbered.filter(isNonce).map(([nonce, raw]) => [nonce, waitingOf(nonce, raw)]))
  } catch {
    return undefined
  }
}

const isNonce = ([nonce]: readonly [number, RawWaiting]) => Number.isSafeInteger(nonce) && nonce >= 0

/** A pooled transaction by hash; undefined if the node does not know it or a block contains it. */
export async function waitingByHash(
  client: Rpc,
  hash: Hash,
): Promise<(Waiting & { from: Address }) | undefined> {
  const raw = (await client.request({ method: 'eth_getTransactionByHash', params: [hash] })) as
    | (RawWaiting & { nonce: Hex; from: Address; blockNumber: Hex | null })
    | null
  if (raw === null || raw.blockNumber !== null) return undefined
  return { ...waitingOf(hexToNumber(raw.nonce), raw), from: raw.from }
}

function waitingOf(nonce: number, raw: RawWaiting): Waiting {
  const price = raw.gasPrice ?? '0x0'
  return {
    nonce,
    hash: raw.hash as Hash,
    to: (raw.to ?? null) as Address | null,
    value: hexToBigInt((raw.value ?? '0x0') as Hex),
    input: (raw.input ?? '0x') as Hex,
    gas: hexToBigInt((raw.gas ?? '0x0') as Hex),
    maxFeePerGas: hexToBigInt((raw.maxFeePerGas ?? price) as Hex),
    maxPriorityFeePerGas: hexToBigInt((raw.maxPriorityFeePerGas ?? price) as Hex),
    type: (raw.type ?? '0x0') as Hex,
  }
}
