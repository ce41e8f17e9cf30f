import type { TxlaneError } from '../errors/base.js'
import { waitForCode, waitForStorage } from '../rpc/reads/waitFor.js'
import type { WaitStage } from '../types.js'
import { type LaneContext, txError } from './context.js'
import type { Transaction } from './transaction.js'

// Long enough for a slow chain; who wants less gives the transaction a deadline (`expires`).
const NEEDS_TIMEOUT_MS = 600_000

/**
 * What has to be on the chain before a transaction is prepared: earlier transactions, code, a storage value.
 * `undefined` where it waits for nothing; rejects with the error that ends it.
 */
export function createConditions(
  context: LaneContext,
): (transaction: Transaction) => Promise<void> | undefined {
  return (transaction) => {
    const { needs } = transaction
    if (needs === undefined) return undefined
    return waitForAll(context, transaction, endOf(transaction)).catch((error: unknown) => {
      throw dependencyError(transaction, error)
    })
  }
}

/** Aborts when the transaction ends, so that nothing of its waiting stays behind. */
function endOf(transaction: Transaction): AbortSignal {
  const controller = new AbortController()
  const cancelTimers = transaction.cancelTimers
  transaction.cancelTimers = () => {
    cancelTimers?.()
    controller.abort()
  }
  return controller.signal
}

async function waitForAll(
  context: LaneContext,
  transaction: Transaction,
  signal: AbortSignal,
): Promise<void> {
  const { after = [], afterStage, afterStatus, deploys, effect } = transaction.needs ?? {}
  const stage = afterStage ?? usualStage(context)
  for (const one of after) {
    const known = typeof one === 'string' ? context.transactions.get(one) : undefined
    const tx = typeof one === 'string' ? known && context.txOf(known) : one
    // One that is not known here any more has ended: the store tells how.
    if (tx === undefined) await waitStored(context, one as string)
    else await waitOne(tx, stage, afterStatus ?? 'success', signal)
  }
  const { port } = context.hub.reader
  const clock = context.clock
  if (deploys) await waitForCode(port, { address: deploys, clock, signal, timeoutMs: NEEDS_TIMEOUT_MS })
  if (effect) await waitForStorage(port, { ...effect, clock, signal, timeoutMs: NEEDS_TIMEOUT_MS })
}

async function waitOne(
  tx: ReturnType<LaneContext['txOf']>,
  stage: WaitStage,
  status: 'success' | 'any',
  signal: AbortSignal,
): Promise<void> {
  const landed = await tx.wait(stage, { signal })
  if (status === 'any' || landed.status === 'success') return
  if (landed.status === 'reverted') throw new Error(`The transaction ${tx.id} reverted.`)
  const sealed = await tx.wait('sealed', { signal })
  if (sealed.status === 'reverted') throw new Error(`The transaction ${tx.id} reverted.`)
}

async function waitStored(context: LaneContext, id: string): Promise<void> {
  const stored = await context.store.find(context.lane.key, { id })
  if (stored === undefined) throw new Error(`No transaction has the id ${JSON.stringify(id)}.`)
  if (stored.failure !== undefined) throw new Error(`The transaction ${id} ended: ${stored.failure.code}.`)
}

function usualStage(context: LaneContext): WaitStage {
  return context.hub.reader.profile.current().pending === 'preconfirmed' ? 'preconfirmed' : 'sealed'
}

function dependencyError(transaction: Transaction, cause: unknown): TxlaneError {
  return txError(transaction, 'DEPENDENCY', 'notExecuted', 'What it depends on did not come about.', cause)
}
