// A type test of the reads: it is compiled with everything else (`npm run typecheck`), and never run. Each
// `@ts-expect-error` must precede an error.
import { type Client, createPublicClient, http } from 'viem'
import { base, mainnet } from 'viem/chains'
import { chainReads, getBlockByNumber, getBlockReceipts } from '../../src/index.js'
import type { Port } from '../../src/rpc/port.js'

export async function opStack() {
  const client = createPublicClient({ chain: base, transport: http() }).extend(chainReads())
  const block = await client.reads.getBlockByNumber({ block: 'pending', fullTransactions: true })
  for (const transaction of block?.transactions ?? []) {
    const place: `0x${string}` | null = transaction.blockHash
    if (transaction.type === 'deposit') {
      const mint: bigint | undefined = transaction.mint
      const source: `0x${string}` = transaction.sourceHash
      console.log(mint, source, place)
    }
    if (transaction.type === 'eip7702') console.log(transaction.authorizationList[0]?.nonce)
    if (transaction.type === 'eip4844')
      console.log(transaction.blobVersionedHashes, transaction.maxFeePerBlobGas)
    // @ts-expect-error no field of a transaction
    console.log(transaction.anything)
  }
  const [receipt] = (await client.reads.getBlockReceipts({ block: 1n })) ?? []
  const l1Fee: bigint | null | undefined = receipt?.l1Fee
  const blockHash: `0x${string}` | null | undefined = receipt?.blockHash
  const logs: readonly { blockNumber: bigint | null; timestampMs?: bigint | undefined }[] =
    receipt?.logs ?? []
  client.reads.watchPending({ onBlock: ({ timestampMs, size }) => console.log(timestampMs, size) })
  return { l1Fee, blockHash, logs }
}

export async function anyChain(port: Port, bare: Client) {
  const client = createPublicClient({ chain: mainnet, transport: http() })
  const block = await getBlockByNumber(client, { block: 'latest' })
  const number: bigint | null | undefined = block?.number
  const hashes: readonly `0x${string}`[] | undefined = block?.transactions
  const requestsHash: `0x${string}` | undefined = block?.requestsHash
  const withdrawals: readonly { amount: `0x${string}` }[] | undefined = block?.withdrawals
  const [receipt] = (await getBlockReceipts(port, { block: 'latest' })) ?? []
  const price: bigint | undefined = receipt?.effectiveGasPrice
  // @ts-expect-error only receipts of the OP stack have it
  console.log(receipt?.l1Fee)
  const [own] = (await getBlockReceipts(bare, { block: 'latest' })) ?? []
  const status: 'success' | 'reverted' | null | undefined = own?.status
  return { number, hashes, requestsHash, withdrawals, price, status }
}
