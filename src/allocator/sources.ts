import { type Address, encodeAbiParameters, type Hex, hexToBigInt, keccak256 } from 'viem'
import { invalid } from '../errors/invalid.js'
import { encodeAddress, encodeSlot, type SlotPosition } from '../rpc/reads/arguments.js'

/** Where a nonce is counted, and how what is read there becomes the nonce as it is used. */
export type NonceSource<nonce extends number | bigint = number> = {
  readonly kind: 'account' | 'storage' | 'entryPoint' | 'safe' | 'forwarder'
  /** The counter's place in a contract's storage; undefined for the account's own transaction count. */
  readonly counter: { readonly address: Address; readonly slot: Hex } | undefined
  /** The count in what stands at that place. */
  readonly decode: (word: Hex) => bigint
  readonly nonceOf: (count: bigint) => nonce
}

const UINT192_MAX = 2n ** 192n - 1n

/** The account's transaction count: the nonces of its own transactions. */
export function accountNonce(): NonceSource<number> {
  return { kind: 'account', counter: undefined, decode: hexToBigInt, nonceOf: Number }
}

/**
 * A counter in a contract's storage.
 *
 * Not guaranteed: that the slot is the right one. It is read as it stands; a slot that something else lives in gives
 * nonces that nobody accepts.
 *
 * @param options.decode The count in the 32 bytes at the slot, where it shares them with something else.
 *   @default the whole word as a number
 * @throws TxlaneError `INVALID` for a bad address or slot
 */
export function storageNonce(options: {
  readonly address: Address
  readonly slot: SlotPosition
  readonly decode?: ((word: Hex) => bigint) | undefined
}): NonceSource<bigint> {
  const { decode = hexToBigInt } = options
  if (typeof decode !== 'function') throw invalid('source.decode', decode, 'a function')
  const counter = {
    address: encodeAddress(options.address, 'source.address'),
    slot: encodeSlot(options.slot, 'source.slot'),
  }
  return { kind: 'storage', counter, decode, nonceOf: (count) => count }
}

/**
 * The nonce of user operations: `key << 64 | sequence`, for EntryPoint 0.6, 0.7 and 0.8.
 *
 * @param options.key Each key has its own sequence: operations of different keys wait for nobody. @default 0n
 * @throws TxlaneError `INVALID` for a bad address, or a key of more than 192 bits
 */
export function entryPointNonce(options: {
  readonly entryPoint: Address
  readonly sender: Address
  readonly key?: bigint | undefined
}): NonceSource<bigint> {
  const { key = 0n } = options
  if (typeof key !== 'bigint' || key < 0n || key > UINT192_MAX)
    throw invalid('source.key', key, 'a bigint of up to 192 bits')
  const entryPoint = encodeAddress(options.entryPoint, 'source.entryPoint')
  const sender = encodeAddress(options.sender, 'source.sender')
  // NonceManager.sol: mapping(address => mapping(uint192 => uint256)) at slot 1; the same in 0.6, 0.7 and 0.8.
  const slot = mapped(encodeWord(key), mapped(encodeWord(hexToBigInt(sender)), encodeWord(1n)))
  return {
    kind: 'entryPoint',
    counter: { address: entryPoint, slot },
    decode: hexToBigInt,
    nonceOf: (sequence) => (key << 64n) | sequence,
  }
}

/**
 * The nonce of a Safe's transactions.
 *
 * @throws TxlaneError `INVALID` for a bad address
 */
export function safeNonce(options: { readonly safe: Address }): NonceSource<bigint> {
  // SafeStorage.sol: slot 5, on the proxy.
  return { ...storageNonce({ address: options.safe, slot: 5n }), kind: 'safe' }
}

/**
 * The nonce of a signer's meta-transactions (ERC-2771): OpenZeppelin's ERC2771Forwarder 5.x and MinimalForwarder 4.x.
 *
 * @throws TxlaneError `INVALID` for a bad address
 */
export function forwarderNonce(options: {
  readonly forwarder: Address
  readonly from: Address
}): NonceSource<bigint> {
  const from = encodeAddress(options.from, 'source.from')
  // Slots 0 and 1 hold EIP712's name and version; `_nonces` follows (OpenZeppelin 4.9 and 5.4).
  const slot = mapped(encodeWord(hexToBigInt(from)), encodeWord(2n))
  return { ...storageNonce({ address: options.forwarder, slot }), kind: 'forwarder' }
}

/** Where a Solidity mapping at `slot` keeps `key`: keccak256(abi.encode(key, slot)). */
function mapped(key: Hex, slot: Hex): Hex {
  return keccak256(`${key}${slot.slice(2)}`)
}

function encodeWord(value: bigint): Hex {
  return encodeAbiParameters([{ type: 'uint256' }], [value])
}
