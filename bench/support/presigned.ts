import type { Hex, LocalAccount } from 'viem'
import { CHAIN_ID, givenTransfer } from './node.js'

/**
 * An account with all transactions of the burst signed in advance: in such a burst the transfer number and
 * the nonce advance together. Other transactions are signed on request.
 */
export async function presigned(account: LocalAccount, count: number): Promise<LocalAccount> {
  const made = new Map<number, Hex>()
  for (let nonce = 0; nonce < count; nonce++) {
    const content = { type: 'eip1559', chainId: CHAIN_ID, nonce, ...givenTransfer(nonce + 1) } as const
    made.set(nonce, await account.signTransaction(content))
  }
  const signTransaction = async (asked: { nonce?: number; value?: bigint }) => {
    const nonce = asked.nonce ?? -1
    const known = asked.value === BigInt(nonce + 1) ? made.get(nonce) : undefined
    return known ?? account.signTransaction(asked as never)
  }
  const { signEnvelope: _, ...plain } = account as LocalAccount & { signEnvelope?: unknown }
  return { ...plain, signTransaction } as LocalAccount
}
