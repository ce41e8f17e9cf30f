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

const BODIES_AT_ONCE = 50

/**
 * Reads every sealed block after `after`, and the receipts of what the account has in them: by plain JSON-RPC, without
 * a line of what is under test.
 *
 * @throws Error where the blocks are not linked by their parent hashes
 */
export async function readChain(options: {
  readonly rpc: PlainRpc
  readonly account: Address
  readonly after: number
  readonly waiting: readonly number[]
}): Promise<ChainFacts> {
  const { rpc, account, after, waiting } = options
  const last = hexToNumber((await rpc.call('eth_blockNumber')) as Hex)
  const numbers = Array.from({ length: Math.max(0, last - after) }, (_, index) => after + 1 + index)
  const blocks = (await rpc.all(
    numbers.map((number) => ['eth_getBlockByNumber', toHex(number), true]),
    BODIES_AT_ONCE,
  )) as RawBlock[]
  for (const [index, block] of blocks.entries()) {
    const parent = blocks[index - 1]
    if (parent && parent.hash !== block.parentHash)
      throw new Error(`block ${block.number} has another parent`)
  }
  const own = blocks.flatMap(({ number, transactions }) =>
    transactions
      .filter(({ from }) => from.toLowerCase() === account.toLowerCase())
      .map((tx) => ({ tx, blockNumber: hexToNumber(number) })),
  )
  const receipts = (await rpc.all(own.map(({ tx }) => ['eth_getTransactionReceipt', tx.hash]))) as {
    status: Hex
  }[]
  const [latest, pending] = await rpc.all([
    ['eth_getTransactionCount', account, 'latest'],
    ['eth_getTransactionCount', account, 'pending'],
  ])
  return {
    executed: own.map(({ tx, blockNumber }, index) => ({
      nonce: hexToNumber(tx.nonce),
      hash: tx.hash,
      blockNumber,
      status: receipts[index]?.status === '0x1' ? 'success' : 'reverted',
      to: tx.to,
      data: tx.input,
      value: hexToBigInt(tx.value),
    })),
    latestCount: hexToNumber(latest as Hex),
    pendingCount: hexToNumber(pending as Hex),
    waiting,
  }
}
