import { type Address, type Chain, defineChain, type Hex, hexToNumber, keccak256, toHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { createPlainRpc, type PlainRpc } from '../../test/demo/plainRpc.js'
import { pause } from '../../test/support/pause.js'
import { findAnvil, startAnvil } from '../../tools/devnet/anvilProcess.js'

export type Node = AsyncDisposable & {
  readonly url: string
  readonly rpc: PlainRpc
}

/** A funded account that never sent a transaction. */
export type Fresh = { readonly privateKey: Hex; readonly address: Address; readonly fromBlock: number }

/** Facts about a chain for a sender. */
export type ChainFacts = { readonly id: number; readonly blockMs: number }

export const CHAIN_ID = 31_337
const BLOCK_MS = 200
const GWEI = 10n ** 9n
/** Enough for any base fee during a run. */
const FEES = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
const NOBODY: Address = '0x00000000000000000000000000000000000000aa'
const LOOK_MS = 50
const LANDED_WITHIN_MS = 120_000
const BODIES_AT_ONCE = 10

/** Plain anvil: the devnet's gateway would influence the measurement. */
export async function startNode(blockMs = BLOCK_MS): Promise<Node> {
  const args = ['--block-time', `${blockMs / 1_000}`, '--gas-limit', '300000000']
  const node = await startAnvil(findAnvil(undefined), args)
  return { url: node.url, rpc: createPlainRpc(node.url), [Symbol.asyncDispose]: () => node.stop() }
}

export function chainOf(
  url: string,
  { id, blockMs }: ChainFacts = { id: CHAIN_ID, blockMs: BLOCK_MS },
): Chain {
  return defineChain({
    id,
    name: 'bench',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    blockTime: blockMs,
  })
}

/** A new funded account. The same words give the same account. */
export async function freshAccount({ rpc }: Pick<Node, 'rpc'>, words: string): Promise<Fresh> {
  const { privateKey, address } = keyOf(words)
  await rpc.call('anvil_setBalance', address, toHex(10n ** 24n))
  return { privateKey, address, fromBlock: await headOf(rpc) }
}

export function keyOf(words: string): { readonly privateKey: Hex; readonly address: Address } {
  const privateKey = keccak256(toHex(`txlane bench ${words}`))
  return { privateKey, address: privateKeyToAddress(privateKey) }
}

export async function headOf(rpc: PlainRpc): Promise<number> {
  return hexToNumber((await rpc.call('eth_blockNumber')) as Hex)
}

/** The transfer with this number. Its value identifies it on the chain. */
export function transfer(number: number) {
  return { to: NOBODY, value: BigInt(number) }
}

/**
 * Fields are listed, not spread: Node 20 gives each object that is spread and then extended its own hidden
 * class.
 */
export function givenTransfer(number: number) {
  const { maxFeePerGas, maxPriorityFeePerGas } = FEES
  return { to: NOBODY, value: BigInt(number), gas: 21_000n, maxFeePerGas, maxPriorityFeePerGas }
}

type Body = { readonly transactions: readonly { readonly from: string; readonly value: Hex }[] }

/**
 * Waits until the account's transactions are in blocks, reads those blocks, and requires exactly the
 * transfers 1 to `count`, each once.
 *
 * @throws Error otherwise
 */
export async function requireOnce(
  { rpc }: Pick<Node, 'rpc'>,
  { address, fromBlock }: Fresh,
  count: number,
): Promise<void> {
  const used = await countInTime(rpc, address, count)
  if (used !== count) throw new Error(`the account's count is ${used}, not ${count}`)
  const blocks = await transfersOf({ rpc }, { address, fromBlock }, await nextBlock(rpc))
  const landed = blocks.flatMap(({ transfers }) => transfers)
  const once = new Set(landed.filter((number) => number >= 1 && number <= count)).size === count
  if (!once || landed.length !== count)
    throw new Error(`expected ${count} transfers exactly once, found ${landed.length}`)
}

export type TransfersOfBlock = { readonly block: number; readonly transfers: readonly number[] }

/** The numbers of the account's transfers in each block up to `head`, in order. */
export async function transfersOf(
  { rpc }: Pick<Node, 'rpc'>,
  { address, fromBlock }: Pick<Fresh, 'address' | 'fromBlock'>,
  head: number,
): Promise<readonly TransfersOfBlock[]> {
  const blocks = Array.from({ length: head - fromBlock }, (_, index) => fromBlock + 1 + index)
  const bodies = await rpc.all(
    blocks.map((block) => ['eth_getBlockByNumber', toHex(block), true]),
    BODIES_AT_ONCE,
  )
  const own = address.toLowerCase()
  return (bodies as Body[]).map(({ transactions }, index) => ({
    block: blocks[index] as number,
    transfers: transactions
      .filter(({ from }) => from.toLowerCase() === own)
      .map(({ value }) => hexToNumber(value)),
  }))
}

async function countInTime(rpc: PlainRpc, address: Address, count: number): Promise<number> {
  for (let leftMs = LANDED_WITHIN_MS; ; leftMs -= LOOK_MS) {
    const used = hexToNumber((await rpc.call('eth_getTransactionCount', address, 'latest')) as Hex)
    if (used >= count || leftMs <= 0) return used
    await pause(LOOK_MS)
  }
}

/**
 * anvil's count at the head includes transactions of the block that it is still building, so one more block
 * is awaited.
 */
async function nextBlock(rpc: PlainRpc): Promise<number> {
  const before = await headOf(rpc)
  for (;;) {
    const now = await headOf(rpc)
    if (now > before) return now
    await pause(LOOK_MS)
  }
}
