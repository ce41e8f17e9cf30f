import { type Address, concat, type Hash, type Hex, hexToBigInt, keccak256, numberToHex, slice } from 'viem'
import type { RpcCall, RpcReply } from '../../../src/rpc/port.js'

/**
 * Nonces of Tempo: sequences behind a key, and expiring nonces. Written from the documentation: TIP-1009
 * (https://docs.tempo.xyz/docs/protocol/tips/tip-1009) and "Nonce Manager precompile"
 * (https://www.mintlify.com/tempoxyz/tempo/protocol/precompiles/nonce), read in November 2026. Not compared with a
 * node. The capacity of the set of seen hashes is not modelled.
 */
export const NONCE_MANAGER: Address = '0x4e4f4e4345000000000000000000000000000000'

/** The key of expiring nonces. Key 0 is the nonce of the account itself. */
export const EXPIRING_KEY = 2n ** 256n - 1n

/** `validBefore` is at most this far ahead of the block. */
const EXPIRY_SECONDS_MAX = 30

export type TempoTransaction = {
  readonly from: Address
  readonly nonceKey: bigint
  readonly nonce: bigint
  /** Seconds since the epoch. 0 if it does not expire. */
  readonly validBefore: number
}

const word = (value: bigint | number | Hex): Hex => numberToHex(BigInt(value), { size: 32 })

/** Stands for the signed bytes. */
export const serialize = ({ from, nonceKey, nonce, validBefore }: TempoTransaction): Hex =>
  concat(['0x76', word(from), word(nonceKey), word(nonce), word(validBefore)])

export function parse(raw: Hex): TempoTransaction {
  const at = (index: number): Hex => slice(raw, 1 + 32 * index, 33 + 32 * index)
  return {
    from: slice(at(0), 12),
    nonceKey: hexToBigInt(at(1)),
    nonce: hexToBigInt(at(2)),
    validBefore: Number(at(3)),
  }
}

const mapped = (key: bigint | Hex, slot: Hex): Hex => keccak256(concat([word(key), slot]))

/** nonces[account][key], a mapping at slot 0. */
export const nonceSlot = (account: Address, key: bigint): Hex => mapped(key, mapped(account, word(0)))

/** expiringNonceSeen[hash], a mapping at slot 1. */
export const seenSlot = (hash: Hash): Hex => mapped(hash, word(1))

/** getNonce(address,uint256) */
export const getNonceData = (account: Address, key: bigint): Hex =>
  concat(['0x89535803', word(account), word(key)])

export type Refusal = 'InvalidExpiry' | 'Replay' | 'NonceNotZero' | 'NonceTooLow' | 'NonceTooHigh'

/** The storage of the precompile. `now`: the time of the newest block, in seconds. */
export function createTempo(now: () => number) {
  let storage = new Map<Hex, bigint>()

  function execute(raw: Hex): Refusal | undefined {
    const { from, nonceKey, nonce, validBefore } = parse(raw)
    const time = now()
    if (nonceKey === EXPIRING_KEY) {
      if (nonce !== 0n) return 'NonceNotZero'
      if (validBefore <= time || validBefore > time + EXPIRY_SECONDS_MAX) return 'InvalidExpiry'
      const slot = seenSlot(keccak256(raw))
      if (Number(storage.get(slot) ?? 0n) > time) return 'Replay'
      storage.set(slot, BigInt(validBefore))
      return undefined
    }
    const slot = nonceSlot(from, nonceKey)
    const next = storage.get(slot) ?? 0n
    if (nonce !== next) return nonce < next ? 'NonceTooLow' : 'NonceTooHigh'
    storage.set(slot, next + 1n)
    return undefined
  }

  return {
    /** Puts a transaction into the newest block, or refuses it. */
    execute,
    /** The state now. The returned function restores it, as a reorg does. */
    snapshot() {
      const before = new Map(storage)
      return () => {
        storage = before
      }
    },
    /** The reads of the precompile; undefined for any other call. */
    answer({ method, params }: RpcCall): RpcReply | undefined {
      if (method === 'eth_getStorageAt' && params[0] === NONCE_MANAGER)
        return { ok: true, result: word(storage.get(params[1] as Hex) ?? 0n) }
      const { to, data } = (method === 'eth_call' ? params[0] : {}) as { to?: Address; data?: Hex }
      if (to !== NONCE_MANAGER || data === undefined) return undefined
      const [account, key] = [slice(data, 16, 36), hexToBigInt(slice(data, 36, 68))]
      return { ok: true, result: word(storage.get(nonceSlot(account, key)) ?? 0n) }
    },
  }
}
