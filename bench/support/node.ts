import { type Address, type Chain, defineChain, type Hex, hexToNumber, keccak256, toHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { createPlainRpc, type PlainRpc } from '../../src/cli/demo/plainRpc.js'
import { findAnvil } from '../../src/devnet/anvilPath.js'
import { startAnvil } from '../../src/devnet/anvilProcess.js'
import { pause } from '../../test/support/pause.js'

export type Node = AsyncDisposable & {
  readonly url: string
  readonly rpc: PlainRpc
}

/** An account that nothing was ever sent from, with money. */
export type Fresh = { readonly privateKey: Hex; readonly address: Address; readonly fromBlock: number }

export const CHAIN_ID = 31_337
const GWEI = 10n ** 9n
/** Enough for whatever the base fee becomes in a run. */
const FEES = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
const NOBODY: Address = '0x00000000000000000000000000000000000000aa'
const LOOK_MS = 50
const LANDED_WITHIN_MS = 120_000
const BODIES_AT_ONCE = 10

/** Anvil by itself: the devnet's gateway would be measured otherwise. */
export async function startNode(): Promise<Node> {
  const node = await startAnvil(findAnvil(undefined), ['--block-time', '0.2', '--gas-limit', '300000000'])
  return { url: node.url, rpc: createPlainRpc(node.url), [Symbol.asyncDispose]: () => node.stop() }
}

export function chainOf(url: string): Chain {
  return defineChain({
    id: CHAIN_ID,
    name: 'bench',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    blockTime: 200,
  })
}

/** The same for the same words, and another for others. */
export async function freshAccount({ rpc }: Pick<Node, 'rpc'>, words: string): Promise<Fresh> {
  const privateKey = keccak256(toHex(`txlane bench ${words}`))
  const address = privateKeyToAddress(privateKey)
  await rpc.call('anvil_setBalance', address, toHex(10n ** 24n))
  return { privateKey, address, fromBlock: hexToNumber((await rpc.call('eth_blockNumber')) as Hex) }
}

/** The transfer of this number: what it pays tells it from the others on the chain. */
export function transfer(number: number) {
  return { to: NOBODY, value: BigInt(number) }
}

/** Written out: Node 20 gives each object that is spread and then added to a shape of its own. */
export function givenTransfer(number: number) {
  const { maxFeePerGas, maxPriorityFeePerGas } = FEES
  return { to: NOBODY, value: BigInt(number), gas: 21_000n, maxFeePerGas, maxPriorityFeePerGas }
}

type Body = { readonly transactions: readonly { readonly from: string; readonly value: Hex }[] }

/**
 * Waits until the account's transactions are in blocks, reads all of those blocks, and requires that the transfers 1 to
 * `count` are there, each once, and nothing else of the account.
 *
 * @throws Error where they are not
 */
export async function requireOnce(
  { rpc }: Pick<Node, 'rpc'>,
  { address, fromBlock }: Fresh,
  count: number,
): Promise<void> {
  const used = await countInTime(rpc, address, count)
  if (used !== count) throw new Error(`the account's count is ${used}, not ${count}`)
  const head = await nextBlock(rpc)
  const numbers = Array.from({ length: head - fromBlock }, (_, index) => toHex(fromBlock + 1 + index))
  const bodies = await rpc.all(
    numbers.map((number) => ['eth_getBlockByNumber', number, true]),
    BODIES_AT_ONCE,
  )
  const times = new Uint32Array(count + 1)
  let all = 0
  for (const { from, value } of (bodies as Body[]).flatMap(({ transactions }) => transactions)) {
    if (from.toLowerCase() !== address.toLowerCase()) continue
    all++
    const number = hexToNumber(value)
    if (number <= count) times[number] = (times[number] ?? 0) + 1
  }
  const once = times.slice(1).every((time) => time === 1)
  if (!once || all !== count) throw new Error(`not each exactly once: ${all} executed of ${count}`)
}

async function countInTime(rpc: PlainRpc, address: Address, count: number): Promise<number> {
  for (let leftMs = LANDED_WITHIN_MS; ; leftMs -= LOOK_MS) {
    const used = hexToNumber((await rpc.call('eth_getTransactionCount', address, 'latest')) as Hex)
    if (used >= count || leftMs <= 0) return used
    await pause(LOOK_MS)
  }
}

/** Anvil counts what it is still putting into its next block, under the tag and under the number of its head. */
async function nextBlock(rpc: PlainRpc): Promise<number> {
  const number = async () => hexToNumber((await rpc.call('eth_blockNumber')) as Hex)
  const before = await number()
  for (;;) {
    const now = await number()
    if (now > before) return now
    await pause(LOOK_MS)
  }
}
