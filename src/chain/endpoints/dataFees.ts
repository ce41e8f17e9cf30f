import { type Address, encodeFunctionData, hexToBigInt } from 'viem'
import type { Port } from '../../rpc/port.js'
import type { EndpointPool } from './endpointPool.js'

/**
 * The fee of the OP stack on top of gas, for the bytes of a transaction on L1. It is read for a sample of bytes, at most once
 * for each newest block and for all lanes of the endpoint pool, while a lane needs the price of gas.
 */
export type DataFees = {
  /** The chain has such a fee. */
  readonly isCharged: boolean
  /** Reads the sample, unless that was done at the newest block. Never rejects: the former sample stays. */
  sample(): Promise<void>
  /** The fee for `bytes` of a transaction, in wei, rounded up; 0 if the chain has no such fee, or it is not known yet. */
  of(bytes: number): bigint
  /** Takes a raw receipt: an `l1Fee` shows that the chain charges the fee. */
  shown(receipt: object): void
}

// The address on every chain of the stack: ethereum-optimism/specs, protocol/predeploys.md, GasPriceOracle.
const PREDEPLOY: Address = '0x420000000000000000000000000000000000000F'
const SAMPLE_BYTES = 1_000n

// GasPriceOracle.getL1FeeUpperBound(uint256 unsignedTxSize): ethereum-optimism/optimism
// packages/contracts-bedrock/src/L2/GasPriceOracle.sol, since Fjord.
const upperBoundAbi = [
  {
    type: 'function',
    name: 'getL1FeeUpperBound',
    stateMutability: 'view',
    inputs: [{ name: 'size', type: 'uint256' }],
    outputs: [{ type: 'uint256' }],
  },
] as const

export function createDataFees(
  endpointPool: Pick<EndpointPool, 'tracker' | 'chain'> & { readonly reader: { readonly port: Port } },
  timeoutMs: number,
): DataFees {
  let { address } = (endpointPool.chain.contracts?.gasPriceOracle ?? {}) as { address?: Address }
  let sampleWei = 0n
  let asked: { readonly head: unknown; readonly answered: Promise<void> } | undefined

  async function ask(to: Address): Promise<void> {
    const data = encodeFunctionData({ abi: upperBoundAbi, args: [SAMPLE_BYTES] })
    const call = { method: 'eth_call', params: [{ to, data }, 'latest'] }
    const [reply] = await endpointPool.reader.port.batch([call], { timeoutMs })
    if (reply?.ok && typeof reply.result === 'string' && reply.result.length === 66)
      sampleWei = hexToBigInt(reply.result as `0x${string}`)
  }

  return {
    get isCharged() {
      return address !== undefined
    },
    async sample() {
      if (address === undefined) return
      const head = endpointPool.tracker.newest?.hash
      if (asked === undefined || asked.head !== head) asked = { head, answered: ask(address).catch(() => {}) }
      await asked.answered
    },
    of: (bytes) => (sampleWei * BigInt(bytes) + SAMPLE_BYTES - 1n) / SAMPLE_BYTES,
    shown(receipt) {
      if ((receipt as { l1Fee?: unknown }).l1Fee != null) address ??= PREDEPLOY
    },
  }
}
