import { type Address, concat, type Hex, keccak256, slice, stringToHex } from 'viem'
import type { Attempt, BlockRef, Slot } from '../ledger/slot.js'
import { live } from '../ledger/slotWith.js'
import { hashOf } from '../platform/hash.js'
import { type CountSlot, OPEN } from './countPool.js'

/** The state of one count as the store keeps it. */
export type CountRecord = {
  readonly count: bigint
  readonly slot: CountSlot
  readonly isUsed: boolean
  /** Of a used count: the newest block when it was seen to be used, if that is known. */
  readonly at?: BlockRef | undefined
}

/** Stores keep the numbers of slots as JavaScript numbers. */
export const COUNT_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * The address under which the store keeps the lane of a counter: the last 20 bytes of a hash of contract and
 * slot. No account has it, unless its owner finds a key with a given address.
 */
export function counterLaneAddress({
  address,
  slot,
}: {
  readonly address: Address
  readonly slot: Hex
}): Address {
  return slice(keccak256(concat([stringToHex('txlane counter'), address.toLowerCase() as Address, slot])), 12)
}

/** A committed payload. It has no fees: the transactions that carry it to the contract have them. */
export function payloadAttempt(payload: Hex, epoch: number): Attempt {
  return {
    hash: hashOf(payload),
    raw: payload,
    fees: { gasPrice: 0n },
    gas: 0n,
    claim: undefined,
    epoch,
    // The caller that committed the payload is about to make it public.
    sends: 1,
    accepted: false,
  }
}

/** `holder`: this process, whose reservations end with it. */
export function recordOf({ count, slot, isUsed, at }: CountRecord, holder: string): Slot {
  const nonce = Number(count)
  const { state, attempts } = slot
  if (state === 'open') return { state: 'reserved', nonce, attempts, claim: holder, token: 0, committing: 0 }
  const end = state === 'filling' ? 'void' : undefined
  if (!isUsed) return live(nonce, 0, { attempts, end })
  return {
    state: 'used',
    nonce,
    attempts,
    claims: [],
    end,
    by: { kind: 'unproven' },
    at,
    settledBefore: false,
    settled: false,
    committing: 0,
  }
}

/** Undefined for a reservation of another process: nothing was committed, so the count is free again. */
function readRecord(stored: Slot, holder: string): CountRecord | undefined {
  const { state, nonce, attempts } = stored
  const count = BigInt(nonce)
  if (state === 'reserved') return stored.claim === holder ? { count, slot: OPEN, isUsed: false } : undefined
  if (state !== 'live' && state !== 'used') return undefined
  const isFilling = stored.end === 'void'
  const at = stored.state === 'used' ? stored.at : undefined
  return { count, slot: { state: isFilling ? 'filling' : 'live', attempts }, isUsed: state === 'used', at }
}

/** Records, lowest first, and the counts that only reservations of other processes had. */
export function readRecords(
  stored: readonly Slot[],
  holder: string,
): { readonly records: readonly CountRecord[]; readonly ended: readonly bigint[] } {
  const records: CountRecord[] = []
  const ended: bigint[] = []
  for (const slot of stored) {
    const one = readRecord(slot, holder)
    if (one === undefined) ended.push(BigInt(slot.nonce))
    else records.push(one)
  }
  return { records: records.sort((a, b) => (a.count < b.count ? -1 : 1)), ended }
}

/** The record of a count that is neither taken nor used in a block that may leave the chain: it is deleted. */
export function freedRecord(count: bigint): Slot {
  return { state: 'hole', nonce: Number(count), attempts: [] }
}
