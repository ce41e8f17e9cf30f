import type { Address } from 'viem'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { readAccountStates, type StateCache } from './accountStates.js'
import type { Pool } from './pool.js'
import type { PoolBook, PooledTx } from './poolBook.js'
import type { AccountState } from './poolRules.js'

const STAGE_CHUNK = 200

/** Sends the transactions of each flashblock to anvil, and applies the block's results to the pool. */
export function createStaging(
  rpc: AnvilRpc,
  book: PoolBook,
  states: StateCache,
): Pick<Pool, 'stage' | 'settle'> {
  let baseFee = 0n
  let staged: readonly PooledTx[] = []

  async function freshStates(): Promise<ReadonlyMap<Address, AccountState>> {
    const fresh = new Map<Address, AccountState>()
    // Senders that arrive during the reads are read in a further round.
    for (;;) {
      const absent = book.senders().filter((from) => !fresh.has(from))
      if (absent.length === 0) return fresh
      for (const [from, state] of await readAccountStates(rpc, absent)) fresh.set(from, state)
    }
  }

  return {
    async stage(baseFeePerGas, gasAvailable) {
      baseFee = baseFeePerGas
      staged = pick(book.runs(), baseFeePerGas, gasAvailable)
      const chunks = []
      for (let at = 0; at < staged.length; at += STAGE_CHUNK) chunks.push(staged.slice(at, at + STAGE_CHUNK))
      await Promise.all(
        chunks.map((chunk) =>
          rpc.batch(chunk.map(({ tx }) => ({ method: 'eth_sendRawTransaction', params: [tx.raw] }))),
        ),
      )
    },
    async settle() {
      const fresh = await freshStates()
      const wereStaged = staged
      staged = []
      // anvil keeps the transactions that it could not execute; its pool must be empty before every flashblock.
      if (wereStaged.length > 0) await rpc.call('anvil_dropAllTransactions')
      return () => {
        states.replace(fresh)
        // The fee of the latest block approximates the next one. It only ranks the transactions that a full pool
        // drops.
        book.refresh(fresh, baseFee)
        // These transactions were sent to anvil, are next in line, and were not executed: anvil will never accept
        // them.
        const left = wereStaged.filter(({ tx }) => book.get(tx.hash) !== undefined)
        for (const { tx, from } of left) {
          if (fresh.get(from)?.nonce === tx.nonce) book.remove(tx.hash)
        }
      }
    },
  }
}

/**
 * Picks the transactions of the next flashblock: each account's executable run in order, best tip first,
 * until the gas is used up. Gas is counted by the gas limits of the transactions, so that all picked
 * transactions fit.
 */
export function pick(
  runs: readonly (readonly PooledTx[])[],
  baseFeePerGas: bigint,
  gasAvailable: bigint,
): PooledTx[] {
  const heads = runs.map((run) => ({ run, at: 0 }))
  const picked: PooledTx[] = []
  let gasLeft = gasAvailable
  for (;;) {
    let best: { head: (typeof heads)[number]; entry: PooledTx; tip: bigint } | undefined
    for (const head of heads) {
      const entry = head.run[head.at]
      if (entry === undefined || entry.tx.gas > gasLeft || entry.tx.maxFeePerGas < baseFeePerGas) continue
      const tip = tipOf(entry, baseFeePerGas)
      if (best === undefined || tip > best.tip || (tip === best.tip && entry.order < best.entry.order)) {
        best = { head, entry, tip }
      }
    }
    if (best === undefined) return picked
    picked.push(best.entry)
    gasLeft -= best.entry.tx.gas
    best.head.at += 1
  }
}

function tipOf({ tx }: PooledTx, baseFeePerGas: bigint): bigint {
  const room = tx.maxFeePerGas - baseFeePerGas
  if (room < tx.maxPriorityFeePerGas) return room
  return tx.maxPriorityFeePerGas
}
