import { basename } from 'node:path'
import { writeReport } from './command.js'
import { PAYOUT_SCRIPT } from './pageBuild.js'
import { pageScript } from './pageScript.js'
import { accountingCsv } from './payout/accounting.js'
import { payoutPage } from './payout/html.js'
import type { PayoutReport } from './payout/payout.js'

/** The paths of the page and of the accounting file of a payout. */
export type PayoutPaths = { readonly page: string; readonly accounting: string }

/** The default places, beside the file that was paid. */
export function payoutPaths(file: string): PayoutPaths {
  return { page: `${file}.report.html`, accounting: `${file}.accounting.csv` }
}

/** Writes both files. Each replaces an earlier one as a whole, and only its owner can read it. */
export async function writePayoutReport(report: PayoutReport, paths: PayoutPaths): Promise<void> {
  await writeReport(paths.accounting, accountingCsv(report))
  await writeReport(
    paths.page,
    payoutPage(report, await pageScript(PAYOUT_SCRIPT), basename(paths.accounting)),
  )
}
