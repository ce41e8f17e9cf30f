import type { TransactionReceipt } from 'viem'
import { isTxlaneError } from '../../../../src/errors/base.js'
import { quoteOf } from '../../../../src/errors/quote.js'
import type { Landed, Sender, Tx, TxlaneError } from '../../../../src/index.js'
import type { Row } from '../file/rows.js'
import type { RowResult, RowStatus } from './results.js'

export type SendRun = {
  readonly counts: {
    queued: number
    signed: number
    accepted: number
    preconfirmed: number
    sealed: number
    failed: number
  }
  /** Resolves when each line has ended, or when the sender was closed. In file order. */
  readonly results: Promise<readonly RowResult[]>
}

/**
 * Sends each row under its id. A row that an earlier run sent is found by the id, and only followed. A row
 * that could not be sent (fate `notExecuted`) starts again under the same id. A reverted row is sent again
 * under the next attempt id, on request. Rows are paid in order: a row that cannot be prepared for now delays
 * the later ones, until it is sent or fails permanently.
 */
export function sendRows(
  sender: Sender,
  rows: readonly Row[],
  options: { readonly retryReverted: boolean; readonly fresh: boolean; readonly stopped: () => boolean },
): SendRun {
  const counts = { queued: 0, signed: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  const results: (RowResult | undefined)[] = rows.map(() => undefined)

  async function* items() {
    for (const row of rows) {
      if (options.stopped()) return
      const attempt = options.fresh ? { id: row.id } : await attemptAt(sender, row, options.retryReverted)
      counts.queued++
      yield { ...attempt, request: row.request, order: 'strict' as const }
    }
  }

  async function run(): Promise<readonly RowResult[]> {
    const offs = [
      sender.on('signed', () => void counts.signed++),
      sender.on('preconfirmed', () => void counts.preconfirmed++),
    ]
    try {
      const sent = sender.sendMany(items() as never, {
        until: 'sealed',
        onProgress: (progress) =>
          Object.assign(counts, { accepted: progress.accepted, sealed: progress.sealed }),
      })
      for await (const result of sent) {
        const row = rows[result.index] as Row
        results[result.index] = result.ok
          ? landedResult(row, result.tx, result.landed)
          : endedResult(row, result.error)
        if (results[result.index]?.status !== 'paid') counts.failed++
      }
    } finally {
      for (const off of offs) off()
    }
    return rows.map((row, index) => results[index] ?? { row, status: 'open' })
  }

  return { counts, results: run() }
}

/** The id of a transaction for a row, and whether it starts again under it. */
export type Attempt = { readonly id: string; readonly again?: true }

/** The last attempt to send a row alone, and the id of the next one. */
export type LastAttempt = { readonly tx: Tx | undefined; readonly next: string }

/**
 * The row's attempt to send or follow: the last one, restarted if it failed, or a new one if it reverted and
 * a retry was requested.
 */
async function attemptAt(sender: Sender, row: Row, retryReverted: boolean): Promise<Attempt> {
  return attemptOf(await lastAttempt(sender, row), retryReverted)
}

export async function lastAttempt(sender: Pick<Sender, 'get'>, row: Row): Promise<LastAttempt> {
  const idOf = (attempt: number) => (attempt === 1 ? row.id : `${row.id}~${attempt}`)
  let attempt = 1
  let last: Tx | undefined
  for (let tx = await sender.get(idOf(1)); tx !== undefined; tx = await sender.get(idOf(++attempt))) last = tx
  return { tx: last, next: idOf(attempt) }
}

export async function attemptOf({ tx, next }: LastAttempt, retryReverted: boolean): Promise<Attempt> {
  if (tx === undefined || (retryReverted && (await isReverted(tx)))) return { id: next }
  return tx.stage === 'failed' ? { id: tx.id, again: true } : { id: tx.id }
}

async function isReverted(tx: Tx): Promise<boolean> {
  const executed = tx.stage === 'sealed' || tx.stage === 'safe' || tx.stage === 'finalized'
  return executed && (await tx.wait('sealed')).status === 'reverted'
}

export function landedResult(row: Row, tx: Tx, landed: Landed | undefined): RowResult {
  const { receipt } = landed ?? {}
  return {
    row,
    status: landed?.status === 'reverted' ? 'reverted' : 'paid',
    nonce: tx.nonce,
    hash: landed?.hash ?? tx.hash,
    blockNumber: receipt?.blockNumber,
    gasUsed: receipt?.gasUsed,
    feeWei: receipt ? feeOf(receipt) : undefined,
  }
}

/** With the fee of a rollup for its data. Undefined if the receipt lacks the price, as on some chains. */
export function feeOf(
  receipt: Pick<TransactionReceipt, 'gasUsed' | 'effectiveGasPrice'>,
): bigint | undefined {
  const { gasUsed, effectiveGasPrice, l1Fee } = receipt as typeof receipt & { readonly l1Fee?: bigint | null }
  return typeof effectiveGasPrice === 'bigint' ? gasUsed * effectiveGasPrice + (l1Fee ?? 0n) : undefined
}

export function endedResult(row: Row, reported: TxlaneError): RowResult {
  // If an earlier run ended the transaction, the cause has the actual end.
  const error = reported.code === 'ENDED' && isTxlaneError(reported.cause) ? reported.cause : reported
  const { nonce, hash } = error.tx ?? {}
  const said = error.code === 'PREPARE_REVERTED' && error.cause instanceof Error ? quoteOf(error.cause) : ''
  const words = said === '' ? '' : ` The node says: “${said}”.`
  return { row, status: statusOf(error), nonce, hash, error: `${error.code}: ${error.shortMessage}${words}` }
}

function statusOf({ code, fate }: TxlaneError): RowStatus {
  if (code === 'CANCELLED' || code === 'SUPERSEDED') return 'cancelled'
  if (code === 'UNRESOLVED') return 'unresolved'
  // Another process reports the execution: its status is unknown.
  if (fate === 'executed') return 'paid'
  // A row that was only queued when the run stopped is in the journal; the next run continues with it.
  return fate === 'notExecuted' && code !== 'CLOSED' ? 'failed' : 'open'
}
