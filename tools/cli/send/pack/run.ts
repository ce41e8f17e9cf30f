import type { Chain, Client, Transport } from 'viem'
import type { ItemResult, Sender } from '../../../../src/index.js'
import { feeShares } from '../../../report/payout/payout.js'
import { count } from '../../shared/output.js'
import { roundedUp } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import { isPaid, type RowResult } from '../pay/results.js'
import { endedResult, landedResults, type RunOptions, type SendRun, sendRows } from '../pay/run.js'
import type { Transfers } from '../pay/transfers.js'
import { createApprovals } from './approvals.js'
import { allFree, readClaims } from './claims.js'
import type { Packing } from './packing.js'
import { createSendings } from './sendings.js'
import { createUnderWay, type Sending } from './underWay.js'

/** A run that may have approved something. */
export type PackRun = SendRun & {
  /** Call it before the sender is closed. Takes approvals back, and sends no further pack. */
  release(): Promise<void>
}

export type PackRunOptions = RunOptions & { readonly say: (text: string) => void }

/** Without packs, each row is sent alone, as `sendRows` does. */
export function payRows(
  sender: Sender,
  client: Client<Transport, Chain>,
  rows: readonly Row[],
  packing: Packing | undefined,
  options: PackRunOptions,
): PackRun {
  if (packing === undefined) return { ...sendRows(sender, rows, options), release: async () => {} }
  return createRun(sender, client, rows, packing, options)
}

function createRun(
  sender: Sender,
  client: Client<Transport, Chain>,
  rows: readonly Row[],
  packing: Packing,
  options: PackRunOptions,
): PackRun {
  const { pinFile } = packing
  const ending = new AbortController()
  const approvals = createApprovals(client, sender, pinFile)
  const results = new Map<string, RowResult>()
  const counts = { queued: 0, signed: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  const underWay = createUnderWay()

  function put(result: RowResult): void {
    results.set(result.row.id, result)
    if (!isPaid(result)) counts.failed++
  }

  async function* items() {
    const claims = options.fresh ? allFree(rows) : await readClaims(sender, rows, pinFile.pins, options)
    const sendings = createSendings(client, packing, {
      rows,
      claims,
      approvals,
      underWay,
      put,
      say: options.say,
      transfers: options.transfers,
      account: sender.address,
      signal: ending.signal,
      stopped: () => ending.signal.aborted || options.stopped(),
    })
    for await (const sending of sendings) {
      counts.queued += sending.rows.length
      underWay.take(sending)
      const { id, again, request, signal } = sending
      yield { id, ...(again && { again }), request, ...(signal && { signal }), order: 'strict' as const }
    }
  }

  let end: Promise<void> | undefined
  const takeBack = () => {
    end ??= takeBackAll()
    return end
  }

  async function takeBackAll(): Promise<void> {
    ending.abort()
    if (options.stopped() && approvals.isOpen) options.say('The approvals for the contract are taken back.')
    for (const { token, spender } of await approvals.takeBack()) {
      options.say(`The approval of ${token} for ${spender} is not taken back yet: run the command again.`)
    }
  }

  function reportApprovals(): void {
    const { transactions, feeWei } = approvals.spent
    if (transactions === 0) return
    const fee = roundedUp(feeWei, { kind: 'native', symbol: client.chain.nativeCurrency.symbol })
    options.say(
      `${count(transactions, 'approval')} for the contract cost ${fee} in fees, beside those of the lines.`,
    )
  }

  async function run(): Promise<readonly RowResult[]> {
    const offs = (['signed', 'accepted', 'preconfirmed'] as const).map((stage) =>
      sender.on(stage, ({ tx }) => {
        counts[stage] += underWay.rowsOf(tx.id)
      }),
    )
    try {
      for await (const result of sender.sendMany(items() as never, { until: 'sealed' })) {
        const sending = underWay.end(result.index)
        if (result.ok) counts.sealed += sending.rows.length
        for (const each of await resultsOf(sending, result, options.transfers)) put(each)
      }
    } finally {
      for (const off of offs) off()
      await takeBack()
      await pinFile.close()
      reportApprovals()
    }
    return rows.map((row) => results.get(row.id) ?? { row, status: 'open' })
  }

  return { counts, results: run(), release: takeBack }
}

/** The result of each row of a transaction. */
async function resultsOf(
  { rows, shared }: Sending,
  result: ItemResult,
  transfers: Transfers,
): Promise<readonly RowResult[]> {
  // The next run makes another pack of the rows of a pack that was withdrawn when this run was stopped.
  if (!result.ok && result.error.code === 'ABORTED') return rows.map((row) => ({ row, status: 'open' }))
  const results = result.ok
    ? await landedResults(rows, result, transfers)
    : rows.map((row) => endedResult(row, result.error))
  if (shared.length === 1) return results
  const feeWei = results[0]?.feeWei
  const shares = feeWei === undefined ? [] : feeShares(feeWei, shared.length)
  return results.map((whole) => {
    const share = shares[shared.indexOf(whole.row)]
    return { ...whole, sharedBy: shared.length, ...(share !== undefined && { feeWei: share }) }
  })
}
