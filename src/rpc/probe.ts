import type { Hex } from 'viem'
import { decodeHash, decodeHeader, decodeNumber, headerCall, type LightHeader } from './codec.js'
import { chainMismatch, malformed, rpcError } from './errors.js'
import { isBlockGone } from './history.js'
import { limitBatches } from './limitBatches.js'
import { isNodesAnswer } from './limits.js'
import type { Port, RpcCall, RpcReply } from './port.js'
import { type ProfileWatch, profileOf } from './profile.js'
import { seenPendingBlock } from './profileRules.js'

export type ProbeOptions = {
  readonly expectChainId?: number | undefined
  readonly expectGenesisHash?: Hex | undefined
  /** The profile that learns from the answers. @default the port's own */
  readonly profile?: ProfileWatch | undefined
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** The properties of an endpoint that one request shows. */
export type ProbeResult = {
  readonly chainId: number
  /** `undefined` if the node does not show block 0: pruned nodes never do, others may temporarily not. */
  readonly genesisHash: Hex | undefined
  readonly latest: LightHeader & { readonly number: number }
  /** `undefined` if the endpoint refuses the tag or answers null. */
  readonly pending: LightHeader | undefined
  readonly profile: ProfileWatch
}

/** The calls that ask an endpoint for its chain. */
export const identityCalls: readonly RpcCall[] = [{ method: 'eth_chainId', params: [] }, headerCall(0)]

const CALLS: readonly RpcCall[] = [...identityCalls, headerCall('pending'), headerCall('latest')]

/**
 * Asks an endpoint, in one request, for its chain and its blocks.
 *
 * The semantics of `pending` cannot be probed on a quiet account: the profile says `unknown` until a
 * transaction was sent. Two endpoints that do not show block 0 can be distinguished only by their chain id.
 *
 * @throws `CHAIN_MISMATCH`; a typed error if the chain id or the latest block cannot be read
 */
export async function probeEndpoint(port: Port, options: ProbeOptions = {}): Promise<ProbeResult> {
  const profile = options.profile ?? profileOf(port)
  const [chainReply, genesisReply, pendingReply, latestReply] = await limitBatches(port).batch(CALLS, options)
  const chainId = decodeNumber(resultOf(chainReply, 'eth_chainId'), 'eth_chainId')
  if (options.expectChainId !== undefined && chainId !== options.expectChainId) {
    throw chainMismatch(port.name, 'chain id', `${options.expectChainId}`, `${chainId}`)
  }
  const genesisHash = genesisOf(genesisReply)
  const { expectGenesisHash } = options
  if (
    expectGenesisHash !== undefined &&
    genesisHash !== undefined &&
    genesisHash !== expectGenesisHash.toLowerCase()
  ) {
    throw chainMismatch(port.name, 'genesis hash', expectGenesisHash, genesisHash)
  }
  const latest = decodeHeader(resultOf(latestReply, METHOD))
  if (latest === null || latest.number === null) throw rpcError(METHOD, NO_LATEST)
  const newest = { ...latest, number: latest.number }
  const pending = pendingOf(pendingReply)
  if (pending === undefined) {
    if (reportsMissing(pendingReply)) profile.observe({ kind: 'pendingMissing' })
  } else {
    profile.observe(seenPendingBlock(pending, newest))
  }
  return { chainId, genesisHash, latest: newest, pending, profile }
}

/** True if the answers to `identityCalls` match this chain; undefined if they do not say. */
export function showsChain(
  [chainReply, genesisReply]: readonly RpcReply[],
  chainId: number,
  genesisHash: Hex | undefined,
): boolean | undefined {
  try {
    if (decodeNumber(resultOf(chainReply, 'eth_chainId'), 'eth_chainId') !== chainId) return false
    const shown = genesisOf(genesisReply)
    return genesisHash === undefined || shown === undefined || shown === genesisHash.toLowerCase()
  } catch {
    return undefined
  }
}

const METHOD = 'eth_getBlockByNumber'
const NO_LATEST = { kind: 'malformed', message: 'the endpoint has no latest block' } as const

function resultOf(reply: RpcReply | undefined, method: string): unknown {
  if (reply === undefined) return undefined
  if (!reply.ok) throw rpcError(method, reply.failure)
  return reply.result
}

/**
 * Undefined if the node reports that it has no block 0, for now or permanently. The name of a lane does not
 * follow from it (`chainOf`). A node that could not be asked is asked again.
 */
function genesisOf(reply: RpcReply | undefined): Hex | undefined {
  if (reply?.ok === false && isBlockGone(reply.failure)) return undefined
  const block = resultOf(reply, METHOD)
  if (block === null) return undefined
  const { number, hash } = block as { number?: unknown; hash?: unknown }
  // An endpoint that returns another block in its place would give the lane a wrong name.
  if (decodeNumber(number, METHOD) !== 0) throw malformed(METHOD, `asked for block 0, got block ${number}`)
  return decodeHash(hash, METHOD, 'hash of block 0')
}

function pendingOf(reply: RpcReply | undefined): LightHeader | undefined {
  return reply?.ok ? (decodeHeader(reply.result) ?? undefined) : undefined
}

/** True if the node itself reports that there is no pending block, as opposed to giving no answer. */
function reportsMissing(reply: RpcReply | undefined): boolean {
  return reply !== undefined && (reply.ok || isNodesAnswer(reply))
}
