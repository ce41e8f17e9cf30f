import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type Address, erc20Abi, type LocalAccount } from 'viem'
import { readContract } from 'viem/actions'
import { createSender, isTxlaneError, type Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { sqliteStore } from '../../../src/store/sqlite/index.js'
import { type Connection, connect } from '../shared/connect.js'
import { openAccount } from '../shared/keys.js'
import { count, json } from '../shared/output.js'
import { answer, EXIT, Refusal, write } from '../shared/program.js'
import { createProgress, type Progress } from '../shared/progress.js'
import { confirm } from '../shared/terminal.js'
import { isUnit, showAmount, unitsOf } from './file/amounts.js'
import { checkRows } from './file/check.js'
import { readRows } from './file/read.js'
import type { Money, Row } from './file/rows.js'
import { parseSend, type SendOptions } from './options.js'
import { lockRun } from './pack/lock.js'
import { checkTokens, openPacking, type Packing, prepareContract, type WithContract } from './pack/packing.js'
import { type PackRun, payRows } from './pack/run.js'
import {
  checkNotRenamed,
  checkSame,
  filesOf,
  type Journal,
  type JournalFiles,
  journalOf,
  readJournal,
  writeJournal,
} from './pay/journal.js'
import { countStatuses, type RowResult, writeResults } from './pay/results.js'
import type { SendRun } from './pay/run.js'
import { createNotices } from './screen/notices.js'
import { previewOf, renderPreview, shortOf } from './screen/preview.js'

type Environment = Readonly<Record<string, string | undefined>>

/** `txlane send`: sends each payment of a file once. */
export function send(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parseSend(argv, environment), 'txlane send', (options) => run(options, environment))
}

/** The input of a run, and the journal of earlier runs. */
type Errand = {
  readonly options: SendOptions
  readonly connection: Connection
  readonly account: LocalAccount
  readonly money: Money
  readonly rows: readonly Row[]
  readonly files: JournalFiles
  readonly journal: Journal
  readonly before: Journal | undefined
  /** The contract that pays several rows in one transaction. */
  readonly contract: WithContract | undefined
}

async function run(options: SendOptions, environment: Environment): Promise<number> {
  const text = await readFile(options.file, 'utf8').catch(() => {
    throw new Refusal(`${options.file} cannot be read.`)
  })
  const account = await openAccount(options.key, environment)
  const connection = await connect(options.url)
  const money = await moneyOf(connection, options.token)
  if (options.unit !== undefined && !isUnit(options.unit, money)) {
    throw new Refusal(`--unit ${options.unit} is none of ${unitsOf(money).join(', ')}.`)
  }
  const rows = rowsOf(options, text, money)
  const files = filesOf(options.file)
  const about = { chainId: connection.chain.id, account: account.address, token: options.token }
  const journal = journalOf(options.file, rows, about, new Date(systemClock.wallNow()))
  const before = await readJournal(files)
  if (before) checkSame(before, journal)
  else if (!options.again) await checkNotRenamed(options.file, journal)
  const contract = await prepareContract(
    connection.client,
    connection.chain.name,
    account.address,
    options,
  )
  if (contract && before === undefined) await checkTokens(contract, rows)
  const errand = { options, connection, account, money, rows, files, journal, before, contract }
  return options.dryRun ? preview(errand) : sendAll(errand)
}

const PROBLEMS_MAX = 50

function rowsOf(options: SendOptions, text: string, money: Money): readonly Row[] {
  const read = readRows(options.file, text)
  const checked = checkRows(read.rows, money, options.unit)
  const problems = [...read.problems, ...checked.problems].sort((a, b) => a.line - b.line)
  if (problems.length > 0) {
    const shown = problems.slice(0, PROBLEMS_MAX).map(({ line, message }) => `  line ${line} ${message}`)
    const more = problems.length > PROBLEMS_MAX ? [`  … and ${problems.length - PROBLEMS_MAX} more`] : []
    throw new Refusal([`${options.file} was not sent:`, ...shown, ...more].join('\n'))
  }
  if (checked.rows.length === 0) throw new Refusal(`${options.file} has no lines to send.`)
  return checked.rows
}

async function moneyOf({ client, chain }: Connection, token: Address | undefined): Promise<Money> {
  if (token === undefined) return { kind: 'native', symbol: chain.nativeCurrency.symbol }
  const read = (functionName: 'decimals' | 'symbol') =>
    readContract(client, { address: token, abi: erc20Abi, functionName })
  try {
    const [decimals, symbol] = await Promise.all([read('decimals'), read('symbol')])
    return { kind: 'token', address: token, symbol: String(symbol), decimals: Number(decimals) }
  } catch {
    throw new Refusal(
      `${token} does not answer decimals() and symbol() on ${chain.name}: is it a token there?`,
    )
  }
}

async function preview(errand: Errand): Promise<number> {
  const { options, connection, account, rows, money, before } = errand
  const seen = await previewOf(connection.client, account.address, rows, money)
  const { symbol } = connection.chain.nativeCurrency
  const missing = shortOf(seen, symbol)
  if (options.json) {
    const repeated = seen.repeated.map(({ line }) => line)
    await write(json({ dryRun: true, ...seen, repeated, missing, begunAt: before?.begunAt }))
  } else {
    await write(renderPreview(seen, symbol, account.address, connection.name))
    if (before) await write(`Started on ${before.begunAt}: lines that were sent then are not sent again.\n`)
    await write('Nothing was sent.\n')
  }
  return missing === undefined && seen.failing.length === 0 ? EXIT.held : EXIT.failed
}

async function sendAll(errand: Errand): Promise<number> {
  const { options, connection, account, rows, money, files, journal, before } = errand
  if (!options.yes) {
    const seen = await previewOf(connection.client, account.address, rows, money)
    process.stderr.write(
      renderPreview(seen, connection.chain.nativeCurrency.symbol, account.address, connection.name),
    )
    const rest = before ? ' (lines that were sent before are not sent again)' : ''
    if (!(await confirm(`Send ${count(rows.length, 'line')}${rest}?`, '--yes'))) return EXIT.refused
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
  const { connection, account, files, journal, before } = errand
  if (errand.contract && before === undefined && existsSync(files.journal))
    throw new Refusal('Another process has begun to pay this file meanwhile: run the command again.')
  if (before === undefined) await writeJournal(files, journal)
  const packing = await openPacking(files, before ?? journal, errand.contract)
  const sender = createSender({
    client: connection.client,
    account,
    // The progress line shows the wait reasons of a run.
    logger: false,
    // A run that is resumed months later still knows its payments.
    store: sqliteStore({ path: files.database, retentionMs: FOR_EVER_MS }),
  }) as unknown as Sender
  const interrupt = onInterrupt(sender)
  try {
    const results = await follow(sender, errand, packing, interrupt)
    await writeResults(files.results, results)
    await report(errand, results)
    if (interrupt.stopped()) return EXIT.interrupted
    return results.every(({ status }) => status === 'paid' || status === 'cancelled')
      ? EXIT.held
      : EXIT.failed
  } finally {
    interrupt.off()
    await sender.close()
  }
}

const FOR_EVER_MS = 100 * 365 * 24 * 3_600_000

async function follow(
  sender: Sender,
  { options, connection, rows, before }: Errand,
  packing: Packing | undefined,
  interrupt: Interrupt,
): Promise<readonly RowResult[]> {
  const progress = createProgress(process.stderr)
  let sent: PackRun | undefined
  const notices = createNotices(sender, {
    progress,
    clock: systemClock,
    moved: () => JSON.stringify(sent?.counts),
  })
  try {
    await opened(sender, progress)
    const fresh = before === undefined
    sent = payRows(sender, connection.client, rows, packing, {
      retryReverted: options.retryReverted,
      fresh,
      stopped: interrupt.stopped,
      say: progress.say,
    })
    interrupt.before(sent.release)
    progress.start(rows.length, shownOf(sent, rows.length))
    return await sent.results
  } finally {
    progress.stop()
    notices.stop()
  }
}

const OPENINGS = 5
const OPEN_AGAIN_MS = 1_000

/** Retries a node that fails at first. No line has been sent yet. */
async function opened(sender: Sender, progress: Progress): Promise<void> {
  for (let left = OPENINGS; ; left--) {
    try {
      return await sender.ready()
    } catch (error) {
      if (left <= 1 || !isTxlaneError(error) || error.code === 'STORE') throw error
      progress.say(`${error.shortMessage} Trying again.`)
      await new Promise<void>((resolve) => void systemClock.setTimer(resolve, OPEN_AGAIN_MS))
    }
  }
}

/** Stages, rate and remaining time. */
function shownOf({ counts }: SendRun, total: number) {
  const begunMs = systemClock.now()
  return () => {
    const { accepted, sealed, failed } = counts
    // Some transactions are sealed before a pre-confirmation was seen.
    const preconfirmed = Math.max(counts.preconfirmed, sealed)
    const seconds = Math.max(0.001, (systemClock.now() - begunMs) / 1_000)
    const rate = sealed / seconds
    const left = rate > 0 ? `, ${duration((total - sealed - failed) / rate)} left` : ''
    const stages = `accepted ${accepted}, preconfirmed ${preconfirmed}, sealed ${sealed}`
    const bad = failed > 0 ? `, not paid ${failed}` : ''
    return { done: sealed + failed, text: `${stages}${bad} of ${total}, ${rate.toFixed(1)}/s${left}` }
  }
}

const duration = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`

type Interrupt = {
  readonly stopped: () => boolean
  /** Runs before the sender is closed. */
  before(work: () => Promise<void>): void
  readonly off: () => void
}

/**
 * The first interrupt stops the run and follows the signed transactions for a while. The second one exits at
 * once; the journal has everything.
 */
function onInterrupt(sender: Sender): Interrupt {
  let stopped = false
  let first = async () => {}
  const stop = () => {
    if (stopped) process.exit(EXIT.interrupted)
    stopped = true
    process.stderr.write(
      '\nStopping: signed transactions are followed for a while. Run the command again to resume.\n',
    )
    void first().finally(() => sender.close())
  }
  process.on('SIGINT', stop)
  return {
    stopped: () => stopped,
    before(work) {
      first = work
    },
    off: () => void process.off('SIGINT', stop),
  }
}

const SHOWN_MAX = 10

async function report({ options, files, money, rows }: Errand, results: readonly RowResult[]): Promise<void> {
  const counts = countStatuses(results)
  const paid = results
    .filter(({ status }) => status === 'paid')
    .reduce((sum, { row }) => sum + row.amount, 0n)
  if (options.json) {
    const shown = results.map(({ row, ...rest }) => ({
      line: row.line,
      id: row.id,
      to: row.to,
      amount: row.amount,
      ...rest,
    }))
    return write(json({ file: options.file, counts, paid, results: shown, resultsFile: files.results }))
  }
  const bad = results.filter(({ status }) => status !== 'paid')
  const lines = bad.slice(0, SHOWN_MAX).map(({ row, status, error, hash }) => {
    return `  line ${row.line} ${status}${error === undefined ? '' : `: ${error}`}${hash === undefined ? '' : ` (${hash})`}\n`
  })
  const more = bad.length > SHOWN_MAX ? `  … and ${bad.length - SHOWN_MAX} more\n` : ''
  const retry =
    counts.reverted > 0 ? 'Reverted lines were executed: only --retry-reverted sends them again.\n' : ''
  await write(
    `Paid ${counts.paid} of ${count(rows.length, 'line')}, ${showAmount(paid, money)}.\n${lines.join('')}${more}${retry}Results: ${files.results}\n`,
  )
}
