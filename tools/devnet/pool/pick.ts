import type { PooledTx } from './poolBook.js'

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
