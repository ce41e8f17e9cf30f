import type { Address, Hex } from 'viem'
import { invalid } from '../../errors/invalid.js'
import { batchReads } from '../batchReads.js'
import {
  type AccountKind,
  accountKind,
  countCall,
  decodeCode,
  decodeHeader,
  decodeNumber,
  decodeWord,
  headerCall,
  type LightHeader,
  sameContents,
} from '../codec.js'
import { isRateLimit, malformed, resultOf } from '../errors.js'
import type { Port, RpcCall, RpcReply } from '../port.js'
import { profileOf } from '../profile.js'
import { seenPendingBlock } from '../profileRules.js'
import { encodeAddress, encodeSlot, type SlotPosition } from './arguments.js'
import { firstAnswer, type ReadOptions, type ReadSource, readPorts } from './source.js'

export type ReadLaneParameters = ReadOptions & {
  readonly address: Address
  /** Storage slots of contracts to read in the same batch, each at its own address or at the account's. */
  readonly slots?:
    | readonly (SlotPosition | { readonly address: Address; readonly slot: SlotPosition })[]
    | undefined
  /**
   * The id of the account's chain. It is checked in the same batch, and answers of an endpoint on another
   * chain are not returned. @default the chain of the endpoint, unchecked
   */
  readonly chainId?: number | undefined
}

/** The state of an account that an endpoint shows at one block. */
export type LaneSide<header = LightHeader & { readonly number: number }> = {
  readonly header: header
  readonly count: number
  readonly code: Hex
  /** The values in the order of `slots`. */
  readonly storage: readonly Hex[]
}

export type LaneReading = {
  readonly latest: LaneSide
  /**
   * `undefined` if the endpoint has no pending block, or if the block changed during each of the readings.
   */
  readonly pending: LaneSide<LightHeader> | undefined
  /** The reason for the missing pending part. */
  readonly withoutPending: 'absent' | 'refuted' | undefined
  readonly account: AccountKind
  /** The endpoint that answered. */
  readonly port: Port
}

const READINGS_MAX = 3

/**
 * Documented in `public.ts`. `isWhole` is true if that many calls are sent in one request. A reading that is
 * split takes longer than a pending block lasts, and so would the next one, so it is not repeated.
 */
export async function readLane(
  source: ReadSource,
  parameters: ReadLaneParameters,
  isWhole: (calls: number) => boolean = () => true,
): Promise<LaneReading> {
  const { address, slots = [], chainId, ...options } = parameters
  const account = encodeAddress(address)
  if (chainId !== undefined && !(Number.isSafeInteger(chainId) && chainId > 0))
    throw invalid('chainId', chainId, 'a positive integer')
  const calls = laneCalls(
    account,
    slots.map((each, index) =>
      typeof each === 'object'
        ? [
            encodeAddress(each.address, `slots[${index}].address`),
            encodeSlot(each.slot, `slots[${index}].slot`),
          ]
        : [account, encodeSlot(each, `slots[${index}]`)],
    ),
  )
  return firstAnswer(readPorts(source), options.signal, async (port) => {
    for (let reading = 1; ; reading++) {
      const replies = await batchReads(port, calls, { ...options, chainId, together: true })
      const lane = decodeLane(port, replies, slots.length)
      const isLast = reading === READINGS_MAX || !isWhole(calls.length + Number(chainId !== undefined))
      if (lane.withoutPending !== 'refuted' || isLast) return lane
    }
  })
}

type Place = readonly [address: Hex, slot: Hex]

/** The pending side, the latest side and the latest header, between two reads of the pending header. */
function laneCalls(address: Hex, places: readonly Place[]): readonly RpcCall[] {
  const side = (block: 'pending' | 'latest'): readonly RpcCall[] => [
    countCall(address, block),
    { method: 'eth_getCode', params: [address, block] },
    ...places.map(([of, slot]) => ({ method: 'eth_getStorageAt', params: [of, slot, block] })),
  ]
  return [
    headerCall('pending'),
    ...side('pending'),
    ...side('latest'),
    headerCall('latest'),
    headerCall('pending'),
  ]
}

function decodeLane(port: Port, replies: readonly RpcReply[], slotCount: number): LaneReading {
  const sideLength = 2 + slotCount
  const [first, last] = [replies[0], replies.at(-1)]
  const latestHeader = decodeHeader(resultOf(BLOCK, replies.at(-2)))
  if (latestHeader === null || latestHeader.number === null)
    throw malformed(BLOCK, 'there is no latest block')
  const latest = {
    header: { ...latestHeader, number: latestHeader.number },
    ...decodeSide(replies.slice(1 + sideLength, 1 + 2 * sideLength)),
  }
  const whole = (
    pending: LaneReading['pending'],
    withoutPending: LaneReading['withoutPending'],
  ): LaneReading => ({
    latest,
    pending,
    withoutPending,
    account: accountKind((pending ?? latest).code),
    port,
  })
  const pendingReplies = replies.slice(1, 1 + sideLength)
  if ([first, last, ...pendingReplies].some(isMissing)) {
    if (isMissing(first)) profileOf(port).observe({ kind: 'pendingMissing' })
    return whole(undefined, 'absent')
  }
  const before = decodeHeader(resultOf(BLOCK, first))
  const after = decodeHeader(resultOf(BLOCK, last))
  if (before === null || after === null) return whole(undefined, 'absent')
  profileOf(port).observe(seenPendingBlock(after, latest.header))
  const refuted =
    !sameContents(before, after) || (after.number !== null && after.number < latest.header.number)
  return refuted
    ? whole(undefined, 'refuted')
    : whole({ header: after, ...decodeSide(pendingReplies) }, undefined)
}

const BLOCK = 'eth_getBlockByNumber'

function decodeSide([count, code, ...storage]: readonly (RpcReply | undefined)[]) {
  return {
    count: decodeNumber(resultOf('eth_getTransactionCount', count), 'eth_getTransactionCount'),
    code: decodeCode(resultOf('eth_getCode', code), 'eth_getCode'),
    storage: storage.map((reply) => decodeWord(resultOf('eth_getStorageAt', reply), 'eth_getStorageAt')),
  }
}

/**
 * True if the node itself reports that there is nothing at `pending`. If it gives no answer, the whole
 * reading fails.
 */
function isMissing(reply: RpcReply | undefined): boolean {
  if (reply === undefined) return false
  if (reply.ok) return reply.result === null
  const { failure } = reply
  return failure.kind === 'rpc' && !isRateLimit(failure.code, failure.message)
}
