import { getAddress, type LogParams, type Provider, TransactionReceipt } from 'ethers'
import type { TransactionReceipt as ViemReceipt } from 'viem'

/**
 * The receipt of a sealed block, from the lane's own data. The provider is not asked, because it may be a
 * block behind.
 */
export class LaneReceipt extends TransactionReceipt {
  constructor(receipt: ViemReceipt, provider: Provider) {
    super(
      {
        to: addressOf(receipt.to),
        from: getAddress(receipt.from),
        contractAddress: addressOf(receipt.contractAddress),
        hash: receipt.transactionHash,
        index: receipt.transactionIndex,
        blockHash: receipt.blockHash,
        blockNumber: Number(receipt.blockNumber),
        logsBloom: receipt.logsBloom,
        logs: receipt.logs.map((log) => logOf(log, receipt)),
        gasUsed: receipt.gasUsed,
        blobGasUsed: receipt.blobGasUsed ?? null,
        cumulativeGasUsed: receipt.cumulativeGasUsed,
        effectiveGasPrice: receipt.effectiveGasPrice ?? null,
        blobGasPrice: receipt.blobGasPrice ?? null,
        type: typeOf(receipt.type),
        status: receipt.status === 'success' ? 1 : 0,
        root: receipt.root ?? null,
      },
      provider,
    )
  }

  /** At least 1, because the transaction is in a sealed block that a lagging provider may not have yet. */
  override async confirmations(): Promise<number> {
    return Math.max(1, await super.confirmations())
  }
}

const TYPES: readonly string[] = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702']

/** A type unknown to viem remains the node's hex value. */
function typeOf(type: string): number {
  const known = TYPES.indexOf(type)
  return known < 0 ? Number(type) : known
}

function addressOf(address: string | null | undefined): string | null {
  return address ? getAddress(address) : null
}

function logOf(log: ViemReceipt['logs'][number], receipt: ViemReceipt): LogParams {
  return {
    transactionHash: receipt.transactionHash,
    transactionIndex: receipt.transactionIndex,
    blockHash: receipt.blockHash,
    blockNumber: Number(receipt.blockNumber),
    removed: log.removed,
    address: getAddress(log.address),
    data: log.data,
    topics: log.topics,
    index: log.logIndex,
  }
}
