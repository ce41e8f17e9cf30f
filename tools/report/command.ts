import { createReadStream } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { Command } from 'commander'
import { knownChain } from '../cli/shared/chains.js'
import { badOption, readCommandLine } from '../cli/shared/commandLine.js'
import { EXIT, type Parsed, write } from '../cli/shared/program.js'
import { REPORT_MARK, renderPage } from './html.js'
import { type ChainNames, chainText, laneOf } from './model/lane.js'
import { buildModel, type Model } from './model/model.js'
import { counted, short } from './model/words.js'
import { pageScript } from './pageScript.js'
import { readRecording } from './read/recording.js'

export type ReportOptions = {
  /** Path of the recording. */
  readonly input: string
  readonly out: string
  readonly json: boolean
  readonly force: boolean
}

type Raw = { readonly out?: string; readonly json: boolean; readonly force: boolean }

/** Parses the command line. It never throws for bad options and never ends the process. */
export function parseReport(argv: readonly string[]): Parsed<ReportOptions> {
  const command = createCommand()
  return readCommandLine(command, argv, ({ out, json, force }: Raw) => {
    const [file = ''] = command.args
    const input = resolve(file)
    const target = resolve(out ?? `${input.replace(/\.jsonl$/, '')}.html`)
    if (json && out !== undefined) throw badOption('--json prints to standard output: use it without --out.')
    if (target === input) throw badOption('--out names the recording itself.')
    return { input, out: target, json, force }
  })
}

function createCommand(): Command {
  return new Command('txlane report')
    .description(
      'Makes an HTML page, which loads no other resource. Of a file that txlane send paid: who was paid, when and in ' +
        'which transaction, with an accounting file (CSV) beside it. Of a recording (see recordTo of txlane/recorder): ' +
        'nonces over time, latency, throughput, and problems with their ends.',
    )
    .argument('<file>', 'a file that was paid, its journal or its results; or a recording')
    .option(
      '--out <page>',
      'path of the page (default: FILE.report.html, for a recording its path with .html)',
    )
    .option(
      '--json',
      'print the figures as one JSON object on standard output instead of writing a page',
      false,
    )
    .option('--force', 'overwrite a file that is not a report', false)
}

/** Makes the report, and prints its path. Resolves to the exit code. */
export async function runReport(options: ReportOptions): Promise<number> {
  // Checked first, because reading a large recording takes a while.
  if (!options.json) await checkWritable(options)
  const model = await modelOf(options.input)
  if (options.json) {
    await write(`${JSON.stringify(model.summary)}\n`)
    return EXIT.held
  }
  const chains = await chainNames(model.summary.lanes)
  const page = renderPage({ title: nameOf(options.input), model, chains, script: await pageScript() })
  await writeReport(options.out, page)
  await write(`${options.out}\n`)
  return EXIT.held
}

async function modelOf(input: string): Promise<Model> {
  try {
    const model = await buildModel(readRecording(createReadStream(input)))
    if (model.book.eventCount === 0) throw new Error(emptyText(model))
    return model
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${nameOf(input)}: ${reason}`)
  }
}

function emptyText({ book, summary }: Model): string {
  const { sessions, unknownEvents } = summary.recording
  const [lane] = summary.lanes
  if (unknownEvents > 0)
    return `it has ${counted(unknownEvents, 'event')} of a newer version of txlane, and none that this version knows.`
  if (sessions + book.torn === 0 && lane === undefined) return 'the file is empty.'
  if (lane === undefined)
    return 'the recording is empty: the recorder followed no sender. Call follow(sender) before the first send.'
  const { chainId, address } = laneOf(lane)
  return `the recording is empty: account ${short(address)} on ${chainText(chainId, new Map())} was followed, and emitted no event.`
}

async function chainNames(lanes: readonly string[]): Promise<ChainNames> {
  const names = new Map<number, { name: string; explorer: string | undefined }>()
  for (const id of new Set(lanes.map((lane) => laneOf(lane).chainId))) {
    const chain = id === undefined ? undefined : await knownChain(id)
    if (chain && id !== undefined)
      names.set(id, { name: chain.name, explorer: chain.blockExplorers?.default.url })
  }
  return names
}

function nameOf(path: string): string {
  return basename(path)
}

// The mark stands near the top of a page.
const HEAD_BYTES = 512

/** @throws Error if the file exists, is not a report, and `force` is not given. */
export async function checkWritable({
  out,
  force,
}: {
  readonly out: string
  readonly force: boolean
}): Promise<void> {
  if (force) return
  const head = await headOf(out)
  if (head !== undefined && !head.includes(REPORT_MARK))
    throw new Error(`${out} exists and is not a report: --force overwrites it.`)
}

/** The first bytes of a file; undefined if it does not exist. */
async function headOf(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Writes the page atomically. Only the owner can read it, like the recording. */
export async function writeReport(out: string, page: string): Promise<void> {
  const half = `${out}.${process.pid}.part`
  try {
    await writeFile(half, page, { mode: 0o600 })
    await rename(half, out)
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
}
