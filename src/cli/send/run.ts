import { isTxlaneError } from '../../errors/base.js'
import type { Landed, Sender, Tx, TxlaneError } from '../../index.js'
import type { RowResult, RowStatus } from './results.js'
import type { Row } from './rows.js'

export type SendRun = {
  readonly counts: { queued: number; accepted: number; preconfirmed: number; sealed: number; failed: number }
  /** Resolves when each line has come to an end, or when the sender was closed. In the order of the file. */
  readonly results: Promise<readonly RowResult[]>
}

/**
 * Sends each row under its id. What an earlier run sent is found by that id and only followed; what it could not send
 * (fate `notExecuted`) begins anew under it. What reverted is sent under the next one, on request. Rows are paid in their
 * order: one that cannot be prepared for now holds up those after it, until it is sent or fails for good.
 */
export function sendRows(
  sender: Sender,
  rows: readonly Row[],
  options: { readonly retryReverted: boolean; readonly fresh: boolean; readonly stopped: () => boolean },
): SendRun {
  const counts = { queued: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
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
    const off = sender.on('preconfirmed', () => void counts.preconfirmed++)
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
      off()
    }
    return rows.map((row, index) => results[index] ?? { row, status: 'open' })
  }

  return { counts, results: run() }
}

/** The attempt at this row that counts: the last one, which begins anew where it failed, or one more where it reverted. */
async function attemptAt(
  sender: Sender,
  row: Row,
  retryReverted: boolean,
): Promise<{ readonly id: string; readonly again?: true }> {
  const idOf = (attempt: number) => (attempt === 1 ? row.id : `${row.id}~${attempt}`)
  let attempt = 1
  let last: Tx | undefined
  for (let tx = await sender.get(idOf(1)); tx !== undefined; tx = await sender.get(idOf(++attempt))) last = tx
  if (last === undefined || (retryReverted && (await isReverted(last)))) return { id: idOf(attempt) }
  return last.stage === 'failed' ? { id: last.id, again: true } : { id: last.id }
}

async function isReverted(tx: Tx): Promise<boolean> {
  const executed = tx.stage === 'sealed' || tx.stage === 'safe' || tx.stage === 'finalized'
  return executed && (await tx.wait('sealed')).status === 'reverted'
}

function landedResult(row: Row, tx: Tx, landed: Landed | undefined): RowResult {
  const { receipt } = landed ?? {}
  return {
    row,
    status: landed?.status === 'reverted' ? 'reverted' : 'paid',
    nonce: tx.nonce,
    hash: landed?.hash ?? tx.hash,
    blockNumber: receipt?.blockNumber,
    gasUsed: receipt?.gasUsed,
  }
}

function endedResult(row: Row, told: TxlaneError): RowResult {
  // Of one that an earlier run has ended it is that end which counts.
  const error = told.code === 'ENDED' && isTxlaneError(told.cause) ? told.cause : told
  const { nonce, hash } = error.tx ?? {}
  return { row, status: statusOf(error), nonce, hash, error: `${error.code}: ${error.shortMessage}` }
}

function statusOf({ code, fate }: TxlaneError): RowStatus {
  if (code === 'CANCELLED' || code === 'SUPERSEDED') return 'cancelled'
  if (code === 'UNRESOLVED') return 'unresolved'
  // Somebody else's word: that it ran is known, how it went is not.
  if (fate === 'executed') return 'paid'
  // What was only queued when the run was left is in the journal: the next run goes on with it.
  return fate === 'notExecuted' && code !== 'CLOSED' ? 'failed' : 'open'
}
