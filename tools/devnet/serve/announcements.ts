import type { Hex } from 'viem'
import type { SealedBlock } from '../chain/chainView.js'
import type { Pool } from '../pool/pool.js'
import { isObject, type RpcObject, type RpcReply } from '../rpc/rpcTypes.js'
import type { Subscriptions } from './subscriptions.js'

/** Announces blocks, logs and transactions to subscribers, in the order in which they happen. */
export type Announcements = {
  flashblock(hashes: readonly Hex[], pending: () => RpcObject): void
  sealed(block: SealedBlock): void
  /** Announces the logs of blocks that a reorganisation removes, newest first, as geth does. */
  removing(blocks: readonly SealedBlock[]): Promise<void>
  /** The pool accepted a transaction. */
  accepted(hash: Hex): void
}

export function createAnnouncements(options: {
  readonly subscriptions: Subscriptions
  readonly pool: Pool
  /** Header of a block in the format of `newHeads`. */
  readonly headerOf: (block: SealedBlock) => RpcObject
  readonly read: (method: string, params: readonly unknown[]) => Promise<RpcReply>
}): Announcements {
  const { subscriptions, pool } = options
  const { publish, wants } = subscriptions
  // Gapped transactions are announced when they become executable.
  const gapped = new Set<Hex>()
  let logsSent: Promise<void> = Promise.resolve()

  async function logsOf({ hash, flashblocks }: SealedBlock): Promise<readonly RpcObject[]> {
    if (flashblocks.every(({ logCount }) => logCount === 0)) return []
    const reply = await options.read('eth_getLogs', [{ blockHash: hash }])
    return 'result' in reply ? (reply.result as RpcObject[]) : []
  }

  function publishLogs(logs: readonly RpcObject[]): void {
    for (const log of logs) publish('logs', ([filter]) => (matchesFilter(log, filter) ? log : undefined))
  }

  return {
    flashblock(hashes, pending) {
      if (wants('newFlashblocks')) publish('newFlashblocks', pending)
      for (const hash of hashes) publish('newFlashblockTransactions', () => hash)
    },
    sealed(block) {
      publish('newHeads', () => options.headerOf(block))
      if (!wants('logs')) return
      logsSent = logsSent.then(async () => publishLogs(await logsOf(block))).catch(() => undefined)
    },
    async removing(blocks) {
      if (!wants('logs')) return
      await logsSent
      for (const block of [...blocks].reverse()) {
        const logs = await logsOf(block)
        publishLogs(logs.map((log) => ({ ...log, removed: true })).reverse())
      }
    },
    accepted(hash) {
      if (!wants('newPendingTransactions')) return
      gapped.add(hash)
      const waiting = [...gapped].map((one) => ({ hash: one, transaction: pool.waiting(one) }))
      const executable = waiting.filter(({ transaction }) => isExecutable(transaction, pool))
      for (const { hash: known, transaction } of executable.sort(byNonce)) {
        gapped.delete(known)
        publish('newPendingTransactions', ([full]) => (full === true && transaction ? transaction : known))
      }
      for (const { hash: gone, transaction } of waiting) if (transaction === undefined) gapped.delete(gone)
    },
  }
}

type Waiting = { readonly transaction: RpcObject | undefined }

/** anvil's own pool shows no nonces, so that each accepted transaction counts as executable. */
function isExecutable(transaction: RpcObject | undefined, pool: Pool): boolean {
  if (transaction === undefined) return pool.contentFrom('0x') === undefined
  const end = pool.runEnd(transaction.from as Hex)
  return end !== undefined && Number(transaction.nonce) < end
}

function byNonce(one: Waiting, other: Waiting): number {
  return Number(one.transaction?.nonce ?? 0) - Number(other.transaction?.nonce ?? 0)
}

/** Whether a log matches the filter of `eth_subscribe`: addresses, and topics by position. */
function matchesFilter(log: RpcObject, filter: unknown): boolean {
  if (!isObject(filter)) return true
  const { address, topics } = filter
  if (address !== undefined && address !== null && !isOneOf(log.address, address)) return false
  if (!Array.isArray(topics)) return true
  const found = log.topics as readonly unknown[]
  return topics.every((wanted, index) => wanted === null || isOneOf(found[index], wanted))
}

function isOneOf(value: unknown, wanted: unknown): boolean {
  const all: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
  return all.some((one) => String(one).toLowerCase() === String(value).toLowerCase())
}
