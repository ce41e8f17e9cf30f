import { type Hash, type Hex, keccak256, toHex } from 'viem'
import type { CancelTimer, Clock } from '../../../src/platform/clock.js'
import type { Port, RpcCall, RpcReply } from '../../../src/rpc/port.js'
import { decodeTransaction } from '../../sim/transaction.js'

/**
 * A node in this process that keeps almost nothing, because the measurement is about the data that a million
 * transactions leave in the sender, not in a chain. One account, `pending` counts the pool, blocks are final
 * soon, or after the given time.
 */
export type StubNode = {
  readonly port: Port
  /** The number of nonces used in sealed blocks. */
  readonly count: number
  /** The number of nonces used in sealed blocks that are not final. */
  readonly unfinal: number
  /** The number of executions of the transaction with this number, which is also its value. */
  executed(number: number): number
  stop(): void
}

export const CHAIN_ID = 8_453

type Block = {
  readonly number: number
  readonly hash: Hash
  readonly transactions: readonly Hash[]
  /** The number of nonces used up to this block. */
  readonly count?: number
  readonly wire: Readonly<Record<string, unknown>>
}
type Pooled = { readonly hash: Hash; readonly number: number }

const BLOCK_MS = 200
/** If blocks are final soon: the number of blocks below the newest one. */
const FINAL_DEPTH = 2
// The sender reads back as far as `finalized` and a few blocks more.
const BLOCKS_MORE = 30
/** The transactions of older blocks are dropped. */
const BODIES_KEPT = 256

export type StubNodeOptions = {
  readonly transactionsMax: number
  /** The most transactions of a block. @default 4,096 */
  readonly blockTransactions?: number | undefined
  /** Milliseconds until a block is final. @default 400 */
  readonly finalityMs?: number | undefined
}
const ZERO = `0x${'0'.repeat(64)}` as const
const NOBODY = `0x${'0'.repeat(40)}` as const
const NO_LOGS = `0x${'0'.repeat(512)}` as const
const BALANCE: Hex = `0x${(10n ** 30n).toString(16)}`

export function startStubNode(
  clock: Clock,
  { transactionsMax, blockTransactions = 4_096, finalityMs = FINAL_DEPTH * BLOCK_MS }: StubNodeOptions,
): StubNode {
  const finalDepth = Math.ceil(finalityMs / BLOCK_MS)
  const times = new Uint8Array(transactionsMax + 1)
  const pool = new Map<number, Pooled>()
  const genesis = blockOf(0, ZERO, [], clock.wallNow())
  const blocks: Block[] = [genesis]
  /** The blocks of transactions that are still known. */
  const blockOfHash = new Map<Hash, Block>()
  const stats = { requests: 0, calls: 0 }
  let count = 0
  let pooled = 0
  let timer: CancelTimer = clock.setTimer(seal, BLOCK_MS)

  function seal(): void {
    const hashes: Hash[] = []
    for (let next = pool.get(count); next && hashes.length < blockTransactions; next = pool.get(count)) {
      pool.delete(count++)
      hashes.push(next.hash)
      times[next.number] = (times[next.number] ?? 0) + 1
    }
    const head = blocks[blocks.length - 1] as Block
    const block = { ...blockOf(head.number + 1, head.hash, hashes, clock.wallNow()), count }
    blocks.push(block)
    for (const hash of hashes) blockOfHash.set(hash, block)
    const old = blocks[blocks.length - BODIES_KEPT]
    if (old) for (const hash of old.transactions) blockOfHash.delete(hash)
    if (old) blocks[blocks.length - BODIES_KEPT] = withoutBody(old)
    if (blocks.length > finalDepth + BLOCKS_MORE) drop(blocks.shift()!)
    timer = clock.setTimer(seal, BLOCK_MS)
  }

  function drop({ transactions }: Block): void {
    for (const hash of transactions) blockOfHash.delete(hash)
  }

  function blockAt(selector: unknown): Block | undefined {
    const head = blocks[blocks.length - 1] as Block
    if (selector === 'latest' || selector === 'pending') return head
    if (selector === 'safe' || selector === 'finalized')
      return blockNumbered(Math.max(0, head.number - finalDepth))
    return blockNumbered(Number(selector))
  }

  function blockNumbered(number: number): Block | undefined {
    const first = blocks[0] as Block
    return number === 0 ? genesis : blocks[number - first.number]
  }

  function take(raw: string): RpcReply {
    const tx = decodeTransaction(raw)
    if (tx === undefined) return failure('rlp: expected input list')
    if (tx.nonce < count) return failure('nonce too low')
    if (!pool.has(tx.nonce)) pool.set(tx.nonce, { hash: tx.hash, number: Number(tx.valueWei) })
    while (pool.has(pooled)) pooled++
    return ok(tx.hash)
  }

  function answer({ method, params }: RpcCall): RpcReply {
    switch (method) {
      case 'eth_chainId':
        return ok(toHex(CHAIN_ID))
      case 'eth_sendRawTransaction':
        return take(String(params[0]))
      case 'eth_getBlockByNumber':
        return ok(blockAt(params[0])?.wire ?? null)
      case 'eth_getBlockReceipts': {
        const block = blockAt(params[0])
        return ok(block?.transactions.map((hash, index) => receiptOf(hash, index, block)) ?? null)
      }
      case 'eth_getTransactionReceipt': {
        const hash = params[0] as Hash
        const block = blockOfHash.get(hash)
        return ok(block === undefined ? null : receiptOf(hash, block.transactions.indexOf(hash), block))
      }
      case 'eth_getTransactionCount':
        return ok(toHex(params[1] === 'pending' ? Math.max(pooled, count) : count))
      case 'eth_getBalance':
        return ok(BALANCE)
      case 'eth_getCode':
        return ok('0x')
      case 'eth_gasPrice':
      case 'eth_maxPriorityFeePerGas':
        return ok('0x3b9aca00')
      default:
        return failure(`the method ${method} does not exist/is not available`, -32601)
    }
  }

  const port: Port = {
    name: 'stub',
    kind: 'http',
    stats,
    async batch(calls) {
      stats.requests++
      stats.calls += calls.length
      // About the latency of a node nearby, so that the sender works meanwhile.
      await new Promise<void>((resolve) => void clock.setTimer(resolve, 1))
      return calls.map(answer)
    },
    close() {},
  }
  return {
    port,
    get count() {
      return count
    },
    get unfinal() {
      return count - (blockAt('finalized')?.count ?? 0)
    },
    executed: (number) => times[number] ?? 0,
    stop: () => timer(),
  }
}

function withoutBody(block: Block): Block {
  return { ...block, transactions: [], wire: { ...block.wire, transactions: [] } }
}

function ok(result: unknown): RpcReply {
  return { ok: true, result }
}

function failure(message: string, code = -32_000): RpcReply {
  return { ok: false, failure: { kind: 'rpc', code, message } }
}

/** A block in its JSON-RPC form, with these transactions only. */
export function blockOf(
  number: number,
  parentHash: Hash,
  transactions: readonly Hash[],
  nowMs: number,
): Block {
  const hash = keccak256(toHex(`block ${number}`))
  const wire = {
    number: toHex(number),
    hash,
    parentHash,
    timestamp: toHex(Math.floor(nowMs / 1_000)),
    baseFeePerGas: '0x3b9aca00',
    gasLimit: '0x11e1a300',
    gasUsed: '0x0',
    size: '0x3e8',
    miner: NOBODY,
    extraData: '0x',
    logsBloom: NO_LOGS,
    transactionsRoot: ZERO,
    stateRoot: ZERO,
    receiptsRoot: ZERO,
    difficulty: '0x0',
    nonce: '0x0000000000000000',
    mixHash: ZERO,
    sha3Uncles: ZERO,
    uncles: [],
    transactions,
  }
  return { number, hash, transactions, wire }
}

function receiptOf(transactionHash: Hash, index: number, block: Block) {
  return {
    transactionHash,
    transactionIndex: toHex(index),
    blockNumber: toHex(block.number),
    blockHash: block.hash,
    from: NOBODY,
    to: NOBODY,
    contractAddress: null,
    status: '0x1',
    type: '0x2',
    gasUsed: '0x5208',
    cumulativeGasUsed: '0x5208',
    effectiveGasPrice: '0x3b9aca00',
    logs: [],
    logsBloom: NO_LOGS,
  }
}
