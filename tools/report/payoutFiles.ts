import type { PayoutReport } from './payout/payout.js'

/** Where the page and the accounting file of a payout are written. */
export type PayoutPaths = { readonly page: string; readonly accounting: string }

/** The default places, beside the file that was paid. */
export function payoutPaths(file: string): PayoutPaths {
  return { page: `${file}.report.html`, accounting: `${file}.accounting.csv` }
}

/** Writes both files. */
export async function writePayoutReport(report: PayoutReport, paths: PayoutPaths): Promise<void> {
  throw new Error(`${paths.page} of ${report.file} is not made yet.`)
}
