import {
  formatTransactionReceipt,
  type Hash,
  type RpcTransactionReceipt,
  type TransactionReceipt,
} from 'viem'
import { readReceipts } from '../../rpc/reads/readReceipts.js'
import { soon } from '../../soon.js'
import type { Hub } from './hub.js'

/** Receipts for who asks. Requests of one turn share a batch; many of one block share one block-receipts call. */
export type Receipts = {
  /**
   * `undefined` where the endpoint does not show it (yet), or shows one of another block. Without a block it is
   * looked for in the one that is being built.
   */
  get(hash: Hash, block?: { number: number; hash: Hash }): Promise<TransactionReceipt | undefined>
}

type Asked = {
  readonly hash: Hash
  readonly block: { number: number; hash: Hash } | undefined
  readonly done: (receipt: TransactionReceipt | undefined) => void
}

const BATCH_MAX = 500

export function createReceipts(hub: Hub, timeoutMs: number): Receipts {
  let asked: Asked[] = []
  let scheduled = false

  function post(): void {
    scheduled = false
    const all = asked
    asked = []
    const byBlock = new Map<number | 'pending', Asked[]>()
    for (const one of all) {
      const name = one.block?.number ?? 'pending'
      byBlock.set(name, [...(byBlock.get(name) ?? []), one])
    }
    for (const [block, group] of byBlock) {
      for (let start = 0; start < group.length; start += BATCH_MAX) {
        void read(block, group.slice(start, start + BATCH_MAX))
      }
    }
  }

  /** A failed read is told as nothing to show: who waits asks again with the next tick. */
  async function read(block: number | 'pending', group: readonly Asked[]): Promise<void> {
    const hashes = group.map(({ hash }) => hash)
    const found = await readReceipts(hub.reader.port, { hashes, block, timeoutMs }).catch(() => undefined)
    for (const one of group) one.done(matching(formatted(found?.get(one.hash)), one))
  }

  /** The chain's own formatter decides what a receipt holds (`l1Fee` on the OP stack, say). */
  function formatted(raw: unknown): TransactionReceipt | undefined {
    if (typeof raw !== 'object' || raw === null) return undefined
    const format = hub.chain.formatters?.transactionReceipt?.format ?? formatTransactionReceipt
    try {
      return format(raw as RpcTransactionReceipt, 'getTransactionReceipt') as TransactionReceipt
    } catch {
      return undefined
    }
  }

  return {
    get(hash, block) {
      return new Promise((done) => {
        asked.push({ hash, block, done })
        if (scheduled) return
        scheduled = true
        soon(post)
      })
    },
  }
}

/** A receipt of a block that is not the one we walked is a replica's that lags or forked: not ours to hand on. */
function matching(receipt: TransactionReceipt | undefined, asked: Asked): TransactionReceipt | undefined {
  if (receipt === undefined || receipt.transactionHash?.toLowerCase() !== asked.hash) return undefined
  if (asked.block !== undefined && receipt.blockHash !== asked.block.hash) return undefined
  return receipt
}
