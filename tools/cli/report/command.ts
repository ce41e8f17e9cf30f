import { existsSync } from 'node:fs'
import { parseReport, type ReportOptions, runReport } from '../../report/command.js'
import { filesOf } from '../send/pay/journal.js'
import { paidFileOf, readPayoutReport } from '../send/pay/payoutReport.js'
import { writePages } from '../send/pay/writePages.js'
import { json, pairs } from '../shared/output.js'
import { answer, EXIT, write } from '../shared/program.js'
import { checkRecording } from './checkRecording.js'

/** `txlane report`: makes a page of a recording, or of a payout and its accounting file. */
export function report(argv: readonly string[]): Promise<number> {
  return answer(parseReport(argv), 'txlane report', (options) =>
    isPayout(options.input) ? reportPayout(options) : reportRecording(options),
  )
}

/** A file that was paid has a journal beside it; a journal and results have their own endings. */
function isPayout(path: string): boolean {
  return path !== paidFileOf(path) || existsSync(filesOf(path).journal)
}

function reportRecording(options: ReportOptions): Promise<number> {
  checkRecording(options.input)
  return runReport(options)
}

async function reportPayout({ input, out, json: asJson }: ReportOptions): Promise<number> {
  if (asJson) {
    await write(json(await readPayoutReport(input)))
    return EXIT.held
  }
  // Without --out the page of a payout stands beside its accounting file.
  const { page, accounting } = await writePages(input, out === `${input}.html` ? undefined : out)
  await write(
    pairs([
      ['report', page],
      ['accounting', accounting],
    ]),
  )
  return EXIT.held
}
