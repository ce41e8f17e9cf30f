import { type Address, type Hex, hexToBigInt, hexToNumber, toHex } from 'viem'
import type { PlainRpc } from '../../src/cli/demo/plainRpc.js'

/** A transaction of the account, as a sealed block has it. */
export type Executed = {
  readonly nonce: number
  readonly hash: Hex
  readonly blockNumber: number
  readonly status: 'success' | 'reverted'
  readonly to: Address | null
  readonly data: Hex
  readonly value: bigint
}

/** What the chain says of one account. */
export type ChainFacts = {
  readonly executed: readonly Executed[]
  readonly latestCount: number
  readonly pendingCount: number
  /** Nonces of what waits in the node's pool. */
  readonly waiting: readonly number[]
}

type RawTx = {
  readonly from: string
  readonly to: Address | null
  readonly input: Hex
  readonly value: Hex
  readonly nonce: Hex
  readonly hash: Hex
}
type RawBlock = {
  readonly number: Hex
  readonly hash: Hex
  readonly parentHash: Hex
  readonly transactions: readonly RawTx[]
}
type RawReceipt = { readonly transactionHash: Hex; readonly status: Hex }

const BODIES_AT_ONCE = 20

/**
 * Reads every sealed block after `after` with its receipts, for all accounts at once: by plain JSON-RPC, without a line
 * of what is under test.
 *
 * @throws Error where the blocks are not linked by their parent hashes, or a transaction has no receipt
 */
export async function readChain(options: {
  readonly rpc: PlainRpc
  readonly accounts: readonly Address[]
  readonly after: number
  readonly waiting: (account: Address) => readonly number[]
}): Promise<readonly ChainFacts[]> {
  const { rpc, accounts, after, waiting } = options
  const executed = new Map<string, Executed[]>(accounts.map((account) => [account.toLowerCase(), []]))
  const last = hexToNumber((await rpc.call('eth_blockNumber')) as Hex)
  let parent: Hex | undefined
  for (let first = after + 1; first <= last; first += BODIES_AT_ONCE) {
    const count = Math.min(BODIES_AT_ONCE, last - first + 1)
    const numbers = Array.from({ length: count }, (_, index) => toHex(first + index))
    const blocks = (await rpc.all(
      numbers.map((number) => ['eth_getBlockByNumber', number, true]),
    )) as RawBlock[]
    const receipts = await receiptsOf(rpc, blocks)
    for (const block of blocks) {
      if (parent !== undefined && parent !== block.parentHash)
        throw new Error(`block ${block.number} has another parent`)
      parent = block.hash
      for (const tx of block.transactions)
        executed.get(tx.from.toLowerCase())?.push(executedOf(tx, block, receipts))
    }
  }
  return Promise.all(
    accounts.map(async (account) => {
      const [latest, pending] = await rpc.all([
        ['eth_getTransactionCount', account, 'latest'],
        ['eth_getTransactionCount', account, 'pending'],
      ])
      return {
        executed: executed.get(account.toLowerCase()) ?? [],
        latestCount: hexToNumber(latest as Hex),
        pendingCount: hexToNumber(pending as Hex),
        waiting: waiting(account),
      }
    }),
  )
}

async function receiptsOf(rpc: PlainRpc, blocks: readonly RawBlock[]): Promise<ReadonlyMap<Hex, Hex>> {
  const full = blocks.filter(({ transactions }) => transactions.length > 0)
  const receipts = (await rpc.all(
    full.map(({ number }) => ['eth_getBlockReceipts', number]),
    BODIES_AT_ONCE,
  )) as RawReceipt[][]
  return new Map(receipts.flat().map(({ transactionHash, status }) => [transactionHash, status]))
}

function executedOf(tx: RawTx, block: RawBlock, receipts: ReadonlyMap<Hex, Hex>): Executed {
  const status = receipts.get(tx.hash)
  if (status === undefined) throw new Error(`${tx.hash} is in block ${block.number} and has no receipt`)
  return {
    nonce: hexToNumber(tx.nonce),
    hash: tx.hash,
    blockNumber: hexToNumber(block.number),
    status: status === '0x1' ? 'success' : 'reverted',
    to: tx.to,
    data: tx.input,
    value: hexToBigInt(tx.value),
  }
}
