import { type Address, concat, type Hex, hexToBigInt, keccak256, numberToHex } from 'viem'
import { invalid } from '../errors/invalid.js'
import { encodeAddress, encodeSlot, type SlotPosition } from '../rpc/methods/arguments.js'

/** A call to a getter of the contract that returns its count. */
export type NonceGetter = {
  /** The calldata. */
  readonly data: Hex
  /** Decodes the count from the returned 32 bytes. */
  readonly decode: (word: Hex) => bigint
}

/** The place at which a nonce is counted, and the conversion from the stored word to the nonce. */
export type NonceSource<nonce extends number | bigint = number> = {
  /** The kind of counter. */
  readonly kind: 'account' | 'storage' | 'entryPoint' | 'safe' | 'forwarder'
  /** The counter's place in a contract's storage; undefined for the account's own transaction count. */
  readonly counter: { readonly address: Address; readonly slot: Hex } | undefined
  /** The account whose nonces these are: the sender of user operations, the signer of meta-transactions. */
  readonly account?: Address | undefined
  /** The key of the sequence in an EntryPoint. */
  readonly key?: bigint | undefined
  /** Decodes the count from the stored word. */
  readonly decode: (word: Hex) => bigint
  /** Getters to verify the slot before it is trusted: the first one that the contract answers is used. */
  readonly getters: readonly NonceGetter[]
  /** Converts the count to the nonce that the contract expects. */
  readonly nonceOf: (count: bigint) => nonce
}

const UINT64_MAX = 2n ** 64n - 1n
const UINT192_MAX = 2n ** 192n - 1n

/** The account's transaction count: the nonces of its own transactions. */
export function accountNonce(): NonceSource<number> {
  return { kind: 'account', counter: undefined, decode: hexToBigInt, getters: [], nonceOf: Number }
}

/**
 * A counter in a contract's storage.
 *
 * Without a `getter` it is not verified that the slot is the right one. The slot is read as it is; a slot of
 * another variable gives nonces that the contract does not accept.
 *
 * @param options.decode Extracts the count from the 32 bytes at the slot, if it also contains other data.
 *   @default the whole word as a number
 * @param options.getter The calldata of a view function of the same contract that returns the count as a
 *   number of up to 256 bits. If the slot differs from its result, nothing is handed out. If an endpoint does
 *   not show storage at `pending`, the getter is called instead.
 * @throws TxlaneError `INVALID` for a bad address, slot, decoder or getter
 * @example
 * const [owner, token] = [address, to]
 * const getter = encodeFunctionData({
 *   abi: parseAbi(['function nonces(address) view returns (uint256)']),
 *   args: [owner],
 * })
 * // keccak256(abi.encode(owner, 7)): a mapping at slot 7.
 * const slot = keccak256(concat([pad(owner), pad('0x07')]))
 * const permits = storageNonce({ address: token, slot, getter })
 */
export function storageNonce(options: {
  readonly address: Address
  readonly slot: SlotPosition
  readonly decode?: ((word: Hex) => bigint) | undefined
  readonly getter?: Hex | undefined
}): NonceSource<bigint> {
  const { decode = hexToBigInt, getter } = options
  if (typeof decode !== 'function') throw invalid('source.decode', decode, 'a function')
  if (getter !== undefined && !/^0x([0-9a-f]{2}){4,}$/i.test(getter))
    throw invalid('source.getter', getter, 'calldata: a selector and its arguments')
  const counter = {
    address: encodeAddress(options.address, 'source.address'),
    slot: encodeSlot(options.slot, 'source.slot'),
  }
  return {
    kind: 'storage',
    counter,
    decode,
    getters: getter === undefined ? [] : [{ data: getter, decode: hexToBigInt }],
    nonceOf: (count) => count,
  }
}

/**
 * The nonce of user operations: `key << 64 | sequence`, for EntryPoint 0.6, 0.7 and 0.8.
 *
 * @param options.key Each key has its own sequence: operations of different keys do not wait for each other.
 * @default 0n
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
  // NonceManager.sol: mapping(address => mapping(uint192 => uint256)) at slot 1; the same in 0.6, 0.7 and
  // 0.8.
  const slot = mapped(encodeWord(key), mapped(encodeWord(sender), encodeWord(1n)))
  return {
    kind: 'entryPoint',
    counter: { address: entryPoint, slot },
    account: sender,
    key,
    decode: hexToBigInt,
    // getNonce(address,uint192): the whole nonce; the sequence is its lower 64 bits.
    getters: [{ data: asking('0x35567e1a', sender, key), decode: (word) => hexToBigInt(word) & UINT64_MAX }],
    nonceOf: (sequence) => (key << 64n) | sequence,
  }
}

/**
 * The nonce of a Safe's transactions.
 *
 * @throws TxlaneError `INVALID` for a bad address
 */
export function safeNonce(options: { readonly safe: Address }): NonceSource<bigint> {
  // SafeStorage.sol: slot 5, on the proxy. The getter is nonce().
  return { ...storageNonce({ address: options.safe, slot: 5n, getter: '0xaffed0e0' }), kind: 'safe' }
}

/**
 * The nonce of a signer's meta-transactions (ERC-2771): OpenZeppelin's ERC2771Forwarder 5.x and
 * MinimalForwarder 4.x.
 *
 * @throws TxlaneError `INVALID` for a bad address
 */
export function forwarderNonce(options: {
  readonly forwarder: Address
  readonly from: Address
}): NonceSource<bigint> {
  const from = encodeAddress(options.from, 'source.from')
  // Slots 0 and 1 hold EIP712's name and version; `_nonces` follows (OpenZeppelin 4.9 and 5.4).
  const slot = mapped(encodeWord(from), encodeWord(2n))
  return {
    ...storageNonce({ address: options.forwarder, slot }),
    kind: 'forwarder',
    account: from,
    // nonces(address) of 5.x, getNonce(address) of 4.x.
    getters: ['0x7ecebe00', '0x2d0335ab'].map((selector) => ({
      data: asking(selector as Hex, from),
      decode: hexToBigInt,
    })),
  }
}

/** The slot of `key` in a Solidity mapping at `slot`: keccak256(abi.encode(key, slot)). */
function mapped(key: Hex, slot: Hex): Hex {
  return keccak256(`${key}${slot.slice(2)}`)
}

function asking(selector: Hex, ...words: readonly (Hex | bigint)[]): Hex {
  return concat([selector, ...words.map(encodeWord)])
}

function encodeWord(value: Hex | bigint): Hex {
  return numberToHex(BigInt(value), { size: 32 })
}
