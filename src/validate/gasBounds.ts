import type { Chain } from 'viem'
import type { TxRequest } from '../types/index.js'

/** Forks that changed the intrinsic gas of a transaction, as the headers of a chain show them. */
export type GasFork = 'shanghai' | 'prague'

// In gas, from the yellow paper, appendix G; the comments name the other sources.
const TRANSACTION = 21_000
const CREATION = 32_000
// EIP-2028 (Istanbul): a byte is four tokens, a zero byte is one.
const TOKEN = 4
// EIP-2930 (Berlin).
const ACCESS_ADDRESS = 2_400
const ACCESS_KEY = 1_900
// EIP-7702: PER_EMPTY_ACCOUNT_COST, a condition of type 4 itself.
const AUTHORIZATION = 25_000
// EIP-3860 (Shanghai), a word of init code.
const INIT_CODE_WORD = 2
// EIP-7623 (Prague): the floor.
const FLOOR_TOKEN = 10

/** IoTeX asks for 10,000 gas and 100 gas a byte (iotex-core, action/protocol/execution: TransferBaseIntrinsicGas). */
const IOTEX: ReadonlySet<number> = new Set([4_689, 4_690])

/**
 * True if every client of the chain refuses a gas limit below the intrinsic gas of Ethereum. Chains of the zkSync stack have
 * another fee model; their viem definitions have an EIP-712 domain. Any other chain states it in its definition as
 * `custom: { ethereumGas: false }`. Arbitrum asks for more, and its headers show no fork that adds to it.
 */
function hasEthereumGas({ id, custom }: Pick<Chain, 'id' | 'custom'>): boolean {
  if (custom?.ethereumGas === false || typeof custom?.getEip712Domain === 'function') return false
  return !IOTEX.has(id)
}

/** The fields of the newest block that bound the gas of the next blocks. */
export type GasBlock = {
  readonly number: number
  readonly gasLimit: bigint
  readonly fork?: GasFork | undefined
}

/** The least gas limit with which a client of the chain accepts the transaction; 0 if that is not known. */
export function leastGas(request: TxRequest, chain: Pick<Chain, 'id' | 'custom'>, fork?: GasFork): bigint {
  return hasEthereumGas(chain) ? intrinsicGas(request, fork) : 0n
}

/**
 * The highest gas limit of a transaction: the gas limit of the newest block. geth ("exceeds block gas limit",
 * core/txpool/validation.go, 1.17), reth, Besu, Nethermind, Hardhat and anvil refuse more. Undefined if it is not known:
 * some headers have no sound limit, and chains with another fee model have other rules.
 */
export function mostGas(
  chain: Pick<Chain, 'id' | 'custom'>,
  block: GasBlock | undefined,
): bigint | undefined {
  if (block === undefined || block.gasLimit < TRANSACTION || !hasEthereumGas(chain)) return undefined
  return block.gasLimit
}

/**
 * The intrinsic gas of a transaction: the least gas limit that it needs before it runs. Without a fork it is the gas of every
 * chain since Berlin; a fork adds to it. A chain may ask for more (the L1 part of a rollup), and EIP-2780 proposes less.
 */
function intrinsicGas(request: TxRequest, fork?: GasFork): bigint {
  const data = request.data ?? '0x'
  const isCreation = request.to === undefined || request.to === null
  const tokens = data === '0x' ? 0 : tokensOf(data)
  let gas = TRANSACTION + TOKEN * tokens + (isCreation ? CREATION : 0)
  for (const { storageKeys } of request.accessList ?? [])
    gas += ACCESS_ADDRESS + ACCESS_KEY * storageKeys.length
  gas += AUTHORIZATION * ((request as { authorize?: readonly unknown[] }).authorize?.length ?? 0)
  if (fork !== undefined && isCreation) gas += INIT_CODE_WORD * Math.ceil((data.length - 2) / 64)
  if (fork === 'prague') gas = Math.max(gas, TRANSACTION + FLOOR_TOKEN * tokens)
  return BigInt(gas)
}

const DIGIT_0 = 48

/** Four tokens for each byte, one for a zero byte. */
function tokensOf(data: string): number {
  let zeros = 0
  for (let at = 2; at < data.length; at += 2)
    if (data.charCodeAt(at) === DIGIT_0 && data.charCodeAt(at + 1) === DIGIT_0) zeros++
  return 4 * ((data.length - 2) / 2) - 3 * zeros
}
