import type { TransactionReceipt } from 'viem'
import { isTxlaneError } from '../../../../src/errors/base.js'
import { quoteOf } from '../../../../src/errors/quote.js'
import type { Landed, Sender, Tx, TxlaneError } from '../../../../src/index.js'
import type { Row } from '../file/rows.js'
import { isPaid, type RowResult, type RowStatus } from './results.js'
import { ANSWERS_FALSE, type Receipt, type Transfers, type Verdict } from './transfers.js'

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

export type RunOptions = {
  readonly retryReverted: boolean
  readonly fresh: boolean
  readonly stopped: () => boolean
  readonly transfers: Transfers
}

/**
 * Sends each row under its id. A row that an earlier run sent is found by the id, and only followed. A row
 * that could not be sent (fate `notExecuted`) starts again under the same id. A reverted row is sent again
 * under the next attempt id, on request. Rows are paid in order: a row that cannot be prepared for now delays
 * the later ones, until it is sent or fails permanently. A row that its token answers with `false` is not sent.
 */
export function sendRows(sender: Sender, rows: readonly Row[], options: RunOptions): SendRun {
  const { transfers, stopped } = options
  const counts = { queued: 0, signed: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  const results = new Map<Row, RowResult>()
  const taken: Row[] = []

  function put(result: RowResult): void {
    results.set(result.row, result)
    if (!isPaid(result)) counts.failed++
  }

  async function prepare(row: Row) {
    const { follows, ...attempt } = options.fresh ? { id: row.id } : await attemptAt(sender, row, options)
    return { row, attempt, refused: !follows && (await transfers.answersFalse(row)) }
  }

  async function* items() {
    for (let from = 0; from < rows.length; from += TOGETHER)
      for (const { row, attempt, refused } of await Promise.all(
        rows.slice(from, from + TOGETHER).map(prepare),
      )) {
        if (stopped()) return
        if (refused) {
          put({ row, status: 'failed', error: ANSWERS_FALSE })
          continue
        }
        counts.queued++
        taken.push(row)
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
        const row = taken[result.index] as Row
        if (!result.ok) put(endedResult(row, result.error))
        else for (const each of await landedResults([row], result, transfers)) put(each)
      }
    } finally {
      for (const off of offs) off()
    }
    return rows.map((row) => results.get(row) ?? { row, status: 'open' })
  }

  return { counts, results: run() }
}

/** Rows that are looked up and asked about together. */
export const TOGETHER = 50

/** The id of a transaction for a row, and whether it starts again under it, or was sent and is only followed. */
export type Attempt = { readonly id: string; readonly again?: true; readonly follows?: true }

/** The last attempt to send a row alone, and the id of the next one. */
export type LastAttempt = { readonly tx: Tx | undefined; readonly next: string }

/**
 * The row's attempt to send or follow: the last one, restarted if it failed, or a new one if it reverted and
 * a retry was requested.
 */
async function attemptAt(sender: Sender, row: Row, options: RunOptions): Promise<Attempt> {
  return attemptOf(row, await lastAttempt(sender, row), options)
}

export async function lastAttempt(sender: Pick<Sender, 'get'>, row: Row): Promise<LastAttempt> {
  const idOf = (attempt: number) => (attempt === 1 ? row.id : `${row.id}~${attempt}`)
  let attempt = 1
  let last: Tx | undefined
  for (let tx = await sender.get(idOf(1)); tx !== undefined; tx = await sender.get(idOf(++attempt))) last = tx
  return { tx: last, next: idOf(attempt) }
}

export async function attemptOf(
  row: Row,
  { tx, next }: LastAttempt,
  { retryReverted, transfers }: Pick<RunOptions, 'retryReverted' | 'transfers'>,
): Promise<Attempt> {
  if (tx === undefined || (retryReverted && (await withoutEffect([row], tx, transfers)).length > 0))
    return { id: next }
  return tx.stage === 'failed' ? { id: tx.id, again: true } : { id: tx.id, follows: true }
}

/** The rows for which the transaction ran and paid nothing: it reverted, or the token did not move. */
export async function withoutEffect(
  rows: readonly Row[],
  tx: Tx,
  transfers: Transfers,
): Promise<readonly Row[]> {
  if (tx.stage !== 'sealed' && tx.stage !== 'safe' && tx.stage !== 'finalized') return []
  const { status, receipt } = await tx.wait('sealed')
  if (status === 'reverted') return rows
  const verdicts = await transfers.verdicts(rows, receiptOf(receipt))
  return rows.filter((_, index) => verdicts[index]?.status === 'unmoved')
}

const receiptOf = (receipt: Landed['receipt'] | undefined): Receipt | undefined =>
  (receipt ?? undefined) as Receipt | undefined

/** The results of the rows of one transaction. */
export async function landedResults(
  rows: readonly Row[],
  { tx, landed }: { readonly tx: Tx; readonly landed?: Landed },
  transfers: Transfers,
): Promise<readonly RowResult[]> {
  const { receipt } = landed ?? {}
  const verdicts: readonly (Verdict | { readonly status: 'reverted' })[] =
    landed?.status === 'reverted'
      ? rows.map(() => ({ status: 'reverted' }))
      : await transfers.verdicts(rows, receiptOf(receipt))
  return rows.map((row, index) => ({
    row,
    ...(verdicts[index] as Verdict),
    nonce: tx.nonce,
    hash: landed?.hash ?? tx.hash,
    blockNumber: receipt?.blockNumber,
    gasUsed: receipt?.gasUsed,
    feeWei: receipt ? feeOf(receipt) : undefined,
  }))
}

/**
 * The fee of a transaction, including the data fee of a rollup. Undefined if the receipt lacks the price, as on some
 * chains.
 */
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
  // A row that was only queued when the run stopped is in the journal; the next run continues with it. One that
  // was executed, with a receipt that no node shows, may have reverted.
  return fate === 'notExecuted' && code !== 'CLOSED' ? 'failed' : 'open'
}
