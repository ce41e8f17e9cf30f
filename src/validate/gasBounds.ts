import type { Chain } from 'viem'
import type { TxRequest } from '../types/index.js'

/** Forks that changed what a transaction costs before it runs, as the headers of a chain show them. */
export type GasFork = 'shanghai' | 'prague'

// In gas. Yellow paper, appendix G; the words beside each say where it comes from.
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

/** IoTeX asks for 10,000 and 100 a byte (iotex-core, action/protocol/execution: TransferBaseIntrinsicGas). */
const IOTEX: ReadonlySet<number> = new Set([4_689, 4_690])

/**
 * Whether every client of the chain refuses gas below what Ethereum asks for. Those of zkSync's stack have a fee model of
 * their own: viem's definitions are known by their EIP-712 domain. Another chain says so itself, as
 * `custom: { ethereumGas: false }` in its definition. Arbitrum asks for more, and its headers show no fork that adds to it.
 */
function hasEthereumGas({ id, custom }: Pick<Chain, 'id' | 'custom'>): boolean {
  if (custom?.ethereumGas === false || typeof custom?.getEip712Domain === 'function') return false
  return !IOTEX.has(id)
}

/** What the newest block says of the gas of the next ones. */
export type GasBlock = {
  readonly number: number
  readonly gasLimit: bigint
  readonly fork?: GasFork | undefined
}

/** The least gas that any client of the chain can take the transaction with; 0 where that is not known. */
export function leastGas(request: TxRequest, chain: Pick<Chain, 'id' | 'custom'>, fork?: GasFork): bigint {
  return hasEthereumGas(chain) ? intrinsicGas(request, fork) : 0n
}

/**
 * The most gas that a transaction may ask for: what the newest block has room for. geth ("exceeds block gas limit",
 * core/txpool/validation.go, 1.17), reth, Besu, Nethermind, Hardhat and anvil refuse more. Undefined where it is not known:
 * headers without a sound limit say nothing, and chains with a fee model of their own have other rules.
 */
export function mostGas(
  chain: Pick<Chain, 'id' | 'custom'>,
  block: GasBlock | undefined,
): bigint | undefined {
  if (block === undefined || block.gasLimit < TRANSACTION || !hasEthereumGas(chain)) return undefined
  return block.gasLimit
}

/**
 * The least gas limit that a transaction needs, whatever it does. Without a fork, what holds on every chain since Berlin;
 * with one, what that fork adds to it. A chain may ask for more (the L1 part of a rollup), and EIP-2780 proposes less.
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

/** Four for each byte, one for a zero byte. */
function tokensOf(data: string): number {
  let zeros = 0
  for (let at = 2; at < data.length; at += 2)
    if (data.charCodeAt(at) === DIGIT_0 && data.charCodeAt(at + 1) === DIGIT_0) zeros++
  return 4 * ((data.length - 2) / 2) - 3 * zeros
}
