import {
  formatTransactionReceipt,
  type Hash,
  type RpcTransactionReceipt,
  type TransactionReceipt,
} from 'viem'
import type { RpcReply } from '../rpc/port.js'
import type { Hub } from './hub.js'

/** Receipts for who asks. Requests of one turn share a batch; many of one block share one block-receipts call. */
export type Receipts = {
  /** `undefined` where the endpoint does not show it (yet), or shows one of another block. */
  get(hash: Hash, block?: { number: number; hash: Hash }): Promise<TransactionReceipt | undefined>
}

type Asked = {
  readonly hash: Hash
  readonly block: { number: number; hash: Hash } | undefined
  readonly done: (receipt: TransactionReceipt | undefined) => void
}

/** From so many receipts of one block on, asking for the whole block moves fewer bytes and calls. */
const WHOLE_BLOCK_MIN = 16
const BATCH_MAX = 100

export function createReceipts(hub: Hub, timeoutMs: number): Receipts {
  let asked: Asked[] = []
  let scheduled = false

  function post(): void {
    scheduled = false
    const all = asked
    asked = []
    const byBlock = new Map<number | undefined, Asked[]>()
    for (const one of all) byBlock.set(one.block?.number, [...(byBlock.get(one.block?.number) ?? []), one])
    const rest: Asked[] = []
    for (const [number, group] of byBlock) {
      const whole = group.length >= WHOLE_BLOCK_MIN && hub.reader.profile.current().blockReceipts !== false
      // Without a number they were seen in the block that is being built.
      if (whole) void wholeBlock(number === undefined ? 'pending' : number, group)
      else rest.push(...group)
    }
    for (let start = 0; start < rest.length; start += BATCH_MAX)
      void each(rest.slice(start, start + BATCH_MAX))
  }

  async function wholeBlock(block: number | 'pending', group: readonly Asked[]): Promise<void> {
    const call = {
      method: 'eth_getBlockReceipts',
      params: [block === 'pending' ? block : `0x${block.toString(16)}`],
    }
    const [reply] = await hub.reader.port.batch([call], { timeoutMs })
    if (!reply?.ok || !Array.isArray(reply.result)) {
      noteRefusal(reply)
      await each(group)
      return
    }
    const found = new Map<string, TransactionReceipt | undefined>()
    for (const raw of reply.result) found.set(hashOf(raw), formatted(raw))
    // A pending block that was sealed meanwhile does not hold them any more: those are asked for by hash.
    const missing = block === 'pending' ? group.filter((one) => !found.has(one.hash)) : []
    if (missing.length > 0) await each(missing)
    for (const one of group) if (!missing.includes(one)) one.done(matching(found.get(one.hash), one))
  }

  /** Public endpoints answer block receipts with 403: remembered, and the per-hash way from then on. */
  function noteRefusal(reply: RpcReply | undefined): void {
    if (reply === undefined || reply.ok) return
    const { failure } = reply
    if (failure.kind === 'http' && failure.status !== 403) return
    if (failure.kind !== 'http' && failure.kind !== 'rpc') return
    hub.reader.profile.observe({ kind: 'methodRefused', method: 'eth_getBlockReceipts' })
  }

  async function each(group: readonly Asked[]): Promise<void> {
    const calls = group.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    const replies = await hub.reader.port.batch(calls, { timeoutMs })
    group.forEach((one, index) => {
      const reply = replies[index]
      one.done(reply?.ok ? matching(formatted(reply.result), one) : undefined)
    })
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
        queueMicrotask(post)
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

function hashOf(raw: unknown): string {
  const hash = (raw as { transactionHash?: unknown } | null)?.transactionHash
  return typeof hash === 'string' ? hash.toLowerCase() : ''
}
