import { type PayoutPaths, payoutPaths, writePayoutReport } from '../../../report/payoutFiles.js'
import { paidFileOf, readPayoutReport } from './payoutReport.js'

/**
 * Makes the page and the accounting file of a payout, beside its file.
 * @param path the file that was paid, its journal or its results
 * @throws Refusal if the journal or the results are missing
 */
export async function writePages(path: string, page?: string): Promise<PayoutPaths> {
  const defaults = payoutPaths(paidFileOf(path))
  const paths = page === undefined ? defaults : { ...defaults, page }
  await writePayoutReport(await readPayoutReport(path), paths)
  return paths
}
