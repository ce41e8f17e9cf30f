import { type Hex, numberToHex, pad } from 'viem'
import { batchReads } from '../batchReads.js'
import { decodeCode, decodeData, decodeHash, decodeWord } from '../codec.js'
import { malformed, resultOf } from '../errors.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from '../port.js'
import type { ProfileWatch } from '../profile.js'

/** The code of an account, or one slot of its storage. */
export type StatePlace = {
  readonly address: Hex
  readonly slot?: Hex | undefined
  /** The calldata of a view function of the contract that returns the word of the slot. */
  readonly getter?: Hex | undefined
}

/** The calls that read places at `pending`, and the decoder of their replies. */
type PendingStateRequest = {
  readonly calls: readonly RpcCall[]
  /**
   * The values in the order of the places. The profile learns from them.
   *
   * @throws a typed error that names the method, if a place was not answered
   */
  read(replies: readonly (RpcReply | undefined)[]): readonly Hex[]
  /** The replies to the plain reads, one per place. */
  plain(replies: readonly (RpcReply | undefined)[]): readonly (RpcReply | undefined)[]
}

const CALL = 'eth_call'

// The answer of a reader begins with this word. A node that ignores the override answers something else.
const MARK = pad('0x74786c616e65')
// MSTORE of the mark at 0.
const STORE_MARK = '6574786c616e65600052'
// EXTCODESIZE and EXTCODECOPY of the address in the calldata, in full.
const CODE_READER: Hex = `0x${STORE_MARK}600035803b8060006020843c6020016000f3`
/** Runs the code reader. The override of an account may hide its pending state, so no real account is used. */
const CODE_READER_ADDRESS: Hex = `0x${'7478'.padStart(40, '0')}`
// SLOAD of the slot in the calldata.
const SLOT_READER: Hex = `0x${STORE_MARK}6000355460205260406000f3`

/**
 * Reads a place by `eth_call` with an override of code. A node whose plain reads at `pending` answer as for
 * `latest` may still execute calls on its pending state: Base's flashblocks RPC does.
 *
 * Not guaranteed for storage: that RPC replaces the pending state of an account by the caller's override of
 * the same account (`StateOverridesBuilder::extend` in crates/execution/flashblocks/src/rpc/eth.rs of
 * base/base), so that the call shows storage at `latest` there. A getter of the contract shows it.
 */
export function stateCall({ address, slot, getter }: StatePlace, block: string): RpcCall {
  if (getter !== undefined) return { method: CALL, params: [{ to: address, data: getter }, block] }
  const [to, data, code] =
    slot === undefined
      ? [CODE_READER_ADDRESS, pad(address), CODE_READER]
      : [address, numberToHex(BigInt(slot), { size: 32 }), SLOT_READER]
  return { method: CALL, params: [{ to, data }, block, { [to]: { code } }] }
}

/** @throws a typed error for a failed call or an answer that cannot be decoded */
export function readStateCall({ slot, getter }: StatePlace, reply: RpcReply | undefined): Hex {
  const result = decodeData(resultOf(CALL, reply), CALL)
  if (getter !== undefined) return decodeHash(result, CALL)
  if (!result.startsWith(MARK)) throw malformed(CALL, 'the override of code was ignored')
  const value: Hex = `0x${result.slice(MARK.length)}`
  return slot === undefined ? value : decodeWord(value, CALL)
}

export function plainRead({ address, slot }: StatePlace, block: string): RpcCall {
  if (slot === undefined) return { method: 'eth_getCode', params: [address, block] }
  return { method: 'eth_getStorageAt', params: [address, slot, block] }
}

/** @throws a typed error for a failed call or an answer that cannot be decoded */
export function readPlain({ slot }: StatePlace, reply: RpcReply | undefined): Hex {
  if (slot === undefined) return decodeCode(resultOf('eth_getCode', reply), 'eth_getCode')
  return decodeWord(resultOf('eth_getStorageAt', reply), 'eth_getStorageAt')
}

/**
 * The request for places at `pending`. Plain reads, if the profile says that they show the pending state; by
 * `eth_call` as well, if it says that they do not.
 *
 * @param compares while the profile does not say, both are sent, and `latest`: the profile then learns from the
 *   first place whose values differ. Without it, only the plain read is sent.
 */
export function pendingStateRequest(
  profile: ProfileWatch,
  places: readonly StatePlace[],
  compares: boolean,
): PendingStateRequest {
  const { pending, pendingState } = profile.current()
  const isFlat = pending === 'latest' || pending === 'absent'
  const isKnown = isFlat || pendingState === true || (pendingState === undefined && !compares)
  const plain = (place: StatePlace) => plainRead(place, pending === 'absent' ? 'latest' : 'pending')
  // The call goes first and `latest` last: a block that comes in between cannot make the plain read look older
  // than it is.
  const callsOf = (place: StatePlace): readonly RpcCall[] => {
    if (isKnown) return [plain(place)]
    const both = [stateCall(place, 'pending'), plain(place)]
    return pendingState === false ? both : [...both, plainRead(place, 'latest')]
  }
  const each = isKnown ? 1 : pendingState === false ? 2 : 3

  return {
    calls: places.flatMap(callsOf),
    read: (replies) =>
      places.map((place, index) => {
        const own = replies.slice(index * each, (index + 1) * each)
        return isKnown ? readPlain(place, own[0]) : newest(profile, place, own)
      }),
    plain: (replies) => places.map((_, index) => replies[index * each + (isKnown ? 0 : 1)]),
  }
}

/** The value that is furthest ahead. Calls may be refused: a node may not support overrides. */
function newest(profile: ProfileWatch, place: StatePlace, replies: readonly (RpcReply | undefined)[]): Hex {
  const [called, plain, latest] = replies
  const [byCall, byRead] = [attempt(readStateCall, place, called), attempt(readPlain, place, plain)]
  if (replies.length < 3) return byCall ?? readPlain(place, plain)
  const sealed = attempt(readPlain, place, latest)
  if (sealed === undefined) return byCall ?? readPlain(place, plain)
  if (byRead !== undefined && byRead !== sealed) profile.observe({ kind: 'pendingState', usable: true })
  else if (byRead !== undefined && byCall !== undefined && byCall !== sealed)
    profile.observe({ kind: 'pendingState', usable: false })
  if (byCall !== undefined && byCall !== sealed) return byCall
  return byRead ?? sealed
}

function attempt(
  read: (place: StatePlace, reply: RpcReply | undefined) => Hex,
  place: StatePlace,
  reply: RpcReply | undefined,
): Hex | undefined {
  try {
    return read(place, reply)
  } catch {
    return undefined
  }
}

/** Reads places at `pending`, in one request. @throws as `pendingStateRequest` */
export async function readPendingState(
  port: Port,
  profile: ProfileWatch,
  places: readonly StatePlace[],
  { compares, ...options }: BatchOptions & { readonly compares: boolean },
): Promise<readonly Hex[]> {
  const request = pendingStateRequest(profile, places, compares)
  return request.read(await batchReads(port, request.calls, options))
}

/** The contract that keeps the hashes of the last blocks in its storage, on chains with Prague (EIP-2935). */
const HISTORY = '0x0000f90827f1c53a10cb7a02335b175320002935'
const HISTORY_BLOCKS = 8_191

/**
 * A slot that each block changes before its transactions: at `pending` it holds the hash of the latest block, so
 * that it shows without a transaction of ours whether storage at `pending` is served.
 *
 * @param latest the number of the newest block
 */
export function changingPlace(latest: number): StatePlace {
  return {
    address: HISTORY,
    slot: numberToHex(latest % HISTORY_BLOCKS),
    getter: numberToHex(latest, { size: 32 }),
  }
}
