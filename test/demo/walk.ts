import { type Address, encodeAbiParameters, type Hex, hexToBigInt, hexToNumber, keccak256, toHex } from 'viem'
import type { PlainRpc } from './plainRpc.js'

/** A transaction of the key in a sealed block. */
export type ExecutedTx = {
  readonly nonce: number
  readonly hash: Hex
  readonly blockNumber: number
  readonly status: 'success' | 'reverted'
  readonly to: Address | undefined
  readonly data: Hex
  readonly value: bigint
}

/** Evidence read from the chain itself. */
export type ChainEvidence = {
  /** The account's nonce count before the run, and after the last block. */
  readonly firstNonce: number
  readonly count: number
  readonly blocks: { readonly first: number; readonly last: number }
  readonly transactions: readonly ExecutedTx[]
  /** The ledger's storage: the marks of each item, and their total. */
  readonly marks: ReadonlyMap<number, number>
  readonly total: number
  /** Nonces of the key's pooled transactions, if the pool is visible. */
  readonly waiting: readonly number[]
}

/** Block and nonce at the start of a run. */
export type StartPoint = { readonly blockNumber: number; readonly nonce: number }

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

// Block bodies of public chains have half a megabyte each.
const BODIES_AT_ONCE = 10
const WALKS_MAX = 3
// Storage slots that the compiler assigns to `marks` and `total` of Ledger.sol.
const MARKS_SLOT = 0n
const TOTAL_SLOT = 1n

export async function readStart(rpc: PlainRpc, account: Address): Promise<StartPoint> {
  const block = (await rpc.call('eth_getBlockByNumber', 'latest', false)) as RawBlock
  const count = (await rpc.call('eth_getTransactionCount', account, block.number)) as Hex
  return { blockNumber: hexToNumber(block.number), nonce: hexToNumber(count) }
}

/**
 * Reads every sealed block after `start`, collects the account's transactions from the bodies, and reads the
 * ledger's storage at the last block.
 *
 * @throws Error if the blocks are not linked, or a receipt is missing.
 */
export async function walkChain(options: {
  readonly rpc: PlainRpc
  readonly account: Address
  readonly start: StartPoint
  readonly ledger: Address
  readonly items: readonly number[]
  readonly waiting: readonly number[]
}): Promise<ChainEvidence> {
  const { rpc, account, start, ledger, items } = options
  const { last, transactions } = await walkBlocks(rpc, [account], start.blockNumber)
  const at = toHex(last)
  const slots = [TOTAL_SLOT, ...items.map(markSlot)]
  const words = await rpc.all(
    slots.map((slot) => ['eth_getStorageAt', ledger, toHex(slot, { size: 32 }), at]),
  )
  const [total = 0, ...marks] = words.map((word) => Number(hexToBigInt(word as Hex)))
  return {
    firstNonce: start.nonce,
    count: hexToNumber((await rpc.call('eth_getTransactionCount', account, at)) as Hex),
    blocks: { first: start.blockNumber + 1, last },
    transactions: transactions.get(account) ?? [],
    marks: new Map(items.map((item, index) => [item, marks[index] ?? 0])),
    total,
    waiting: options.waiting,
  }
}

/**
 * Reads every sealed block after `after` and collects the accounts' transactions in chain order. Every
 * account has a list, possibly empty.
 *
 * @throws Error if the blocks are not linked, or a receipt is missing.
 */
export async function walkBlocks(
  rpc: PlainRpc,
  accounts: readonly Address[],
  after: number,
): Promise<{ readonly last: number; readonly transactions: ReadonlyMap<Address, readonly ExecutedTx[]> }> {
  const byAccount = new Map(accounts.map((account) => [account.toLowerCase(), [] as ExecutedTx[]]))
  const { last, found } = await readBodies(rpc, new Set(byAccount.keys()), after)
  const receipts = await rpc.all(found.map(({ tx }) => ['eth_getTransactionReceipt', tx.hash]))
  for (const [index, { tx, blockNumber }] of found.entries())
    byAccount.get(tx.from.toLowerCase())?.push(executed(tx, blockNumber, receipts[index]))
  return {
    last,
    transactions: new Map(accounts.map((account) => [account, byAccount.get(account.toLowerCase()) ?? []])),
  }
}

type Found = { readonly tx: RawTx; readonly blockNumber: number }

async function readBodies(rpc: PlainRpc, accounts: ReadonlySet<string>, after: number) {
  for (let left = WALKS_MAX; left > 0; left--) {
    const head = (await rpc.call('eth_getBlockByNumber', 'latest', false)) as RawBlock
    const last = hexToNumber(head.number)
    const found: Found[] = []
    let parent: Hex | undefined
    let linked = true
    for (let number = after + 1; number <= last; number += BODIES_AT_ONCE) {
      const numbers = range(number, Math.min(last + 1, number + BODIES_AT_ONCE))
      const blocks = await rpc.all(
        numbers.map((one) => ['eth_getBlockByNumber', toHex(one), true]),
        BODIES_AT_ONCE,
      )
      for (const block of blocks as (RawBlock | null)[]) {
        linked &&= block !== null && (parent === undefined || block.parentHash === parent)
        parent = block?.hash
        found.push(...ownOf(block, accounts))
      }
    }
    if (linked && (parent === undefined || parent === head.hash)) return { last, found }
  }
  throw new Error(`the blocks after ${after} are not linked by their parent hashes`)
}

function ownOf(block: RawBlock | null, accounts: ReadonlySet<string>): Found[] {
  if (block === null) return []
  const own = block.transactions.filter(({ from }) => accounts.has(from.toLowerCase()))
  return own.map((tx) => ({ tx, blockNumber: hexToNumber(block.number) }))
}

function executed(tx: RawTx, blockNumber: number, receipt: unknown): ExecutedTx {
  const status = (receipt as { status?: Hex } | null)?.status
  if (status === undefined) throw new Error(`no receipt for ${tx.hash} in block ${blockNumber}`)
  return {
    nonce: hexToNumber(tx.nonce),
    hash: tx.hash,
    blockNumber,
    status: hexToNumber(status) === 1 ? 'success' : 'reverted',
    to: tx.to ?? undefined,
    data: tx.input,
    value: hexToBigInt(tx.value),
  }
}

function markSlot(item: number): bigint {
  const key = encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [BigInt(item), MARKS_SLOT])
  return hexToBigInt(keccak256(key))
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}
