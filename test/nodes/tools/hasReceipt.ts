import type { PlainRpc } from '../../demo/plainRpc.js'

const INDEXING = 'transaction indexing is in progress'

/**
 * True if the node shows the receipt. While geth's index is behind its chain, just after its start, it
 * answers with an error (`GetTransactionReceipt` in internal/ethapi/api.go): the receipt is not visible yet.
 */
export async function hasReceipt({ call }: Pick<PlainRpc, 'call'>, hash: unknown): Promise<boolean> {
  try {
    return (await call('eth_getTransactionReceipt', hash)) !== null
  } catch (error) {
    if (error instanceof Error && error.message.includes(INDEXING)) return false
    throw error
  }
}
