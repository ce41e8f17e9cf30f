import type { Address, Hex } from 'viem'
import { invalid } from '../../errors/invalid.js'
import { batchReads } from '../batchReads.js'
import {
  type AccountKind,
  accountKind,
  countCall,
  decodeHeader,
  decodeNumber,
  headerCall,
  type LightHeader,
  sameContents,
} from '../codec.js'
import { malformed, resultOf } from '../errors.js'
import { isNodesAnswer } from '../limits.js'
import type { Port, RpcReply } from '../port.js'
import { profileOf } from '../profile.js'
import { seenPendingBlock } from '../profileRules.js'
import { encodeAddress, encodeSlot, type SlotPosition } from './arguments.js'
import { pendingStateRequest, plainRead, readPlain, type StatePlace } from './pendingState.js'
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

export type ReadingRules = {
  /**
   * True if that many calls are sent in one request. A reading that is split takes longer than a pending block
   * lasts, and so would the next one, so it is not repeated. @default always true
   */
  readonly isWhole?: ((calls: number) => boolean) | undefined
  /** As of `pendingStateRequest`. @default true if there are slots */
  readonly compares?: boolean | undefined
}

/** Documented in `public.ts`. */
export async function readLane(
  source: ReadSource,
  parameters: ReadLaneParameters,
  { isWhole = () => true, compares = (parameters.slots ?? []).length > 0 }: ReadingRules = {},
): Promise<LaneReading> {
  const { address, slots = [], chainId, ...options } = parameters
  const account = encodeAddress(address)
  if (chainId !== undefined && !(Number.isSafeInteger(chainId) && chainId > 0))
    throw invalid('chainId', chainId, 'a positive integer')
  const places: readonly StatePlace[] = [
    { address: account },
    ...slots.map((each, index) =>
      typeof each === 'object'
        ? {
            address: encodeAddress(each.address, `slots[${index}].address`),
            slot: encodeSlot(each.slot, `slots[${index}].slot`),
          }
        : { address: account, slot: encodeSlot(each, `slots[${index}]`) },
    ),
  ]
  return firstAnswer(readPorts(source), options.signal, async (port) => {
    for (let reading = 1; ; reading++) {
      const asked = createLaneRequest(port, account, places, compares)
      const { calls } = asked
      const replies = await batchReads(port, calls, { ...options, chainId, together: true })
      const lane = asked.read(replies)
      const isLast = reading === READINGS_MAX || !isWhole(calls.length + Number(chainId !== undefined))
      if (lane.withoutPending !== 'refuted' || isLast) return lane
    }
  })
}

/** The pending side, the latest side and the latest header, between two reads of the pending header. */
function createLaneRequest(port: Port, address: Hex, places: readonly StatePlace[], compares: boolean) {
  const state = pendingStateRequest(profileOf(port), places, compares)
  const pendingSide = [countCall(address, 'pending'), ...state.calls]
  const latestSide = [countCall(address, 'latest'), ...places.map((place) => plainRead(place, 'latest'))]
  const calls = [
    headerCall('pending'),
    ...pendingSide,
    ...latestSide,
    headerCall('latest'),
    headerCall('pending'),
  ]

  function read(replies: readonly RpcReply[]): LaneReading {
    const [first, last] = [replies[0], replies.at(-1)]
    const latestHeader = decodeHeader(resultOf(BLOCK, replies.at(-2)))
    if (latestHeader === null || latestHeader.number === null)
      throw malformed(BLOCK, 'there is no latest block')
    const latestReplies = replies.slice(1 + pendingSide.length, 1 + pendingSide.length + latestSide.length)
    const sealed = places.map((place, index) => readPlain(place, latestReplies[1 + index]))
    const latest = {
      header: { ...latestHeader, number: latestHeader.number },
      ...sideOf(latestReplies[0], sealed),
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
    const count = replies[1]
    const pendingState = replies.slice(2, 1 + pendingSide.length)
    if ([first, last, count, ...state.plain(pendingState)].some(isMissing)) {
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
      : whole({ header: after, ...sideOf(count, state.read(pendingState)) }, undefined)
  }

  return { calls, read }
}

const BLOCK = 'eth_getBlockByNumber'
const COUNT = 'eth_getTransactionCount'

function sideOf(count: RpcReply | undefined, [code, ...storage]: readonly Hex[]) {
  return { count: decodeNumber(resultOf(COUNT, count), COUNT), code: code!, storage }
}

/**
 * True if the node itself reports that there is nothing at `pending`. If it gives no answer, the whole
 * reading fails.
 */
function isMissing(reply: RpcReply | undefined): boolean {
  if (reply === undefined) return false
  return reply.ok ? reply.result === null : isNodesAnswer(reply)
}
