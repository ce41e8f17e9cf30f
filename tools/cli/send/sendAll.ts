import { existsSync } from 'node:fs'
import type { Address } from 'viem'
import { getTransactionCount } from 'viem/actions'
import { createSender, isTxlaneError, type Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { sqliteStore } from '../../../src/store/sqlite/index.js'
import type { Store } from '../../../src/types/store.js'
import type { Connection } from '../shared/connect.js'
import { widthOf, wrapped } from '../shared/output.js'
import { EXIT, Refusal, write } from '../shared/program.js'
import { createProgress, type Progress } from '../shared/progress.js'
import { packsOf, shownPreview } from './dryRun.js'
import { doubtsOf, type Errand, rowsOf } from './errand.js'
import { totalsOf } from './file/amountText.js'
import type { Row } from './file/rows.js'
import { lockRun } from './pack/lock.js'
import { openPacking, type Packing } from './pack/packing.js'
import { type PackRun, payRows } from './pack/run.js'
import { blockTimes } from './pay/blockTimes.js'
import {
  type Journal,
  type JournalFiles,
  journalOf,
  keepUnmoved,
  markOpened,
  unmovedIn,
  writeJournal,
} from './pay/journal.js'
import { type RowResult, writeResults } from './pay/results.js'
import { createTransfers } from './pay/transfers.js'
import { writePages } from './pay/writePages.js'
import { type End, endJson, endText } from './screen/endReport.js'
import { type Interrupt, onInterrupt } from './screen/interrupt.js'
import { createNotices } from './screen/notices.js'
import { previewOf } from './screen/preview.js'
import { doubtText } from './screen/previewText.js'
import { mayBeSent } from './screen/prompt.js'
import { runProgress } from './screen/runProgress.js'
import { standingsText } from './screen/standingText.js'

/** Sends the rows that are left, follows the others, and reports each. */
export async function sendAll(errand: Errand): Promise<number> {
  const { files } = errand
  if (!(await isAgreed(errand))) {
    process.stderr.write('Nothing was sent.\n')
    return EXIT.refused
  }
  const packs = errand.contract !== undefined || existsSync(files.packs)
  const lock = await lockRun(files.lock, packs ? 'alone' : 'shared')
  try {
    return await sendLocked(errand)
  } finally {
    lock.release()
  }
}

async function sendLocked(errand: Errand): Promise<number> {
  const { connection, account, files } = errand
  const begun = await keepJournal(errand)
  const packing = await openPacking(files, begun, errand.contract)
  const store = await openStore(files)
  const journal = await markOpened(files, begun)
  const sender = createSender({
    client: connection.client,
    account,
    // The progress line shows the wait reasons of a run.
    logger: false,
    store,
  }) as unknown as Sender
  const progress = createProgress(process.stderr)
  const interrupt = onInterrupt(sender, progress)
  try {
    const begunMs = systemClock.now()
    const results = await follow(sender, progress, { errand, packing, interrupt })
    const seconds = (systemClock.now() - begunMs) / 1_000
    await keepUnmoved(files, { ...journal, ...(packing && { packed: true as const }) }, results)
    const interrupted = interrupt.stopped()
    await report(errand, results, { seconds, interrupted })
    if (interrupted) return EXIT.interrupted
    return results.every(({ status }) => status === 'paid' || status === 'cancelled')
      ? EXIT.held
      : EXIT.failed
  } finally {
    interrupt.off()
    await sender.close()
    // Only a closed store is complete in one file, which people copy.
    await store.close()
  }
}

/** The database, which exists from now on. */
async function openStore({ database: path }: JournalFiles): Promise<Store> {
  // A run that is resumed months later still knows its payments.
  const store = sqliteStore({ path, retentionMs: FOR_EVER_MS })
  try {
    await store.list([], { limit: 1 })
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

const FOR_EVER_MS = 100 * 365 * 24 * 3_600_000

/** A run that sends nothing asks no question. */
async function isAgreed(errand: Errand): Promise<boolean> {
  const { options, connection, account, payout, purse, standings } = errand
  const rows = rowsOf(errand)
  const say = (text: string) => void process.stderr.write(`${wrapped(text, widthOf(process.stderr))}\n`)
  if (rows.length === 0) {
    // The end of the run shows the payments of earlier runs.
    if (standings?.signed.length && !options.json) say(standingsText(payout.rows.length, standings))
    return true
  }
  const doubts = doubtsOf(errand, rows)
  if (options.yes) {
    if (!options.json) for (const text of [`Plan ${purse.plan}`, ...doubts.map(doubtText)]) say(text)
    return true
  }
  const preview = await previewOf(connection.client, account.address, rows, await packsOf(errand))
  process.stderr.write(shownPreview(errand, preview, process.stderr))
  return mayBeSent({ rows, totals: totalsOf(rows), doubts, connection })
}

async function sentBy(client: Connection['client'], address: Address): Promise<number> {
  return getTransactionCount(client, { address, blockTag: 'latest' }).catch(() => {
    throw new Refusal(`The node does not count the transactions of ${address}. Nothing was sent.`)
  })
}

/** A journal of an earlier version becomes one of this version: it lacks fields that reports need. */
async function keepJournal({
  options,
  connection,
  account,
  payout,
  files,
  purse,
  at,
  before,
  contract,
}: Errand): Promise<Journal> {
  if (before?.version === 2) return before
  if (contract && before === undefined && existsSync(files.journal))
    throw new Refusal('Another process has begun to pay this file meanwhile: run the command again.')
  const journal = journalOf(options.file, payout, purse, before?.begunAt ?? at)
  const about =
    before === undefined
      ? { opened: false, sentBefore: await sentBy(connection.client, account.address) }
      : {}
  const begun = { ...about, ...journal }
  await writeJournal(files, begun)
  return begun
}

type Followed = {
  readonly errand: Errand
  readonly packing: Packing | undefined
  readonly interrupt: Interrupt
}

async function follow(
  sender: Sender,
  progress: Progress,
  { errand, packing, interrupt }: Followed,
): Promise<readonly RowResult[]> {
  const { options, connection, payout, before, standings } = errand
  const { rows } = payout
  let sent: PackRun | undefined
  const notices = createNotices(sender, {
    progress,
    clock: systemClock,
    moved: () => JSON.stringify(sent?.counts),
  })
  try {
    await opened(sender, progress, interrupt.stopped)
    const fresh = before === undefined
    sent = payRows(sender, connection.client, rows, packing, {
      retryReverted: options.retryReverted,
      fresh,
      transfers: createTransfers(connection.client, errand.account.address, unmovedIn(before)),
      stopped: interrupt.stopped,
      say: progress.say,
    })
    interrupt.before(sent.release)
    const paid = standings?.paid.length ?? 0
    progress.start(rows.length, runProgress(sent, { total: rows.length, before: paid, clock: systemClock }))
    return await sent.results
  } finally {
    progress.stop()
    notices.stop()
  }
}

const OPENINGS = 5
const OPEN_AGAIN_MS = 1_000

/** Retries a node that fails at first. No line has been sent yet. */
async function opened(sender: Sender, progress: Progress, stopped: () => boolean): Promise<void> {
  for (let left = OPENINGS; ; left--) {
    try {
      return await sender.ready()
    } catch (error) {
      // The report says that no line was begun.
      if (stopped()) return
      if (left <= 1 || !isTxlaneError(error) || error.code === 'STORE') throw error
      progress.say(`${error.shortMessage} Trying again.`)
      await new Promise<void>((resolve) => void systemClock.setTimer(resolve, OPEN_AGAIN_MS))
    }
  }
}

/** Lines that earlier runs executed, and this one does not send again. */
function executedBefore(errand: Errand): ReadonlySet<Row> {
  const { paid = [], reverted = [], unmoved = [] } = errand.standings ?? {}
  const sent = new Set(rowsOf(errand))
  return new Set([...paid, ...reverted, ...unmoved].filter((row) => !sent.has(row)))
}

async function report(
  errand: Errand,
  results: readonly RowResult[],
  how: Pick<End, 'seconds' | 'interrupted'>,
): Promise<void> {
  const { options, connection, payout, files, purse, standings } = errand
  const { symbol } = connection.chain.nativeCurrency
  const times = await blockTimes(
    connection.client,
    results.map(({ blockNumber }) => blockNumber),
  )
  const written = await writeResults(files.results, payout.columns, results, { symbol, times })
    .then(async () => ({ results: files.results, ...(options.report && (await writePages(options.file))) }))
    .catch((error: Error) => error)
  const end: End = {
    ...how,
    file: options.file,
    plan: purse.plan,
    results,
    paidBefore: new Set(standings?.paid),
    executedBefore: executedBefore(errand),
    times,
    native: { kind: 'native', symbol },
    written: written instanceof Error ? { results: undefined } : written,
  }
  await write(options.json ? endJson(end) : endText(end))
  // The payments are on the screen before the command fails.
  if (written instanceof Error)
    throw new Error(`${written.message} The run is in the journal: the next one writes the results again.`)
}
