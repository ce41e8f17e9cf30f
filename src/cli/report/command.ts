import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { badOption, readCommandLine } from '../commandLine.js'
import { EXIT, type Parsed, write } from '../program.js'
import { renderPage } from './html.js'
import { buildModel, type Model } from './model/model.js'
import { pageScript } from './pageScript.js'
import { readRecording } from './read/recording.js'
import { checkWritable, nameOf, writeReport } from './write.js'

export type ReportOptions = {
  /** The recording. */
  readonly input: string
  readonly out: string
  readonly json: boolean
  readonly force: boolean
}

type Raw = { readonly out?: string; readonly json: boolean; readonly force: boolean }

/** Reads the command line; never throws and never ends the process. */
export function parseReport(argv: readonly string[]): Parsed<ReportOptions> {
  const command = createCommand()
  return readCommandLine(command, argv, ({ out, json, force }: Raw) => {
    const [file = ''] = command.args
    const input = resolve(file)
    const target = resolve(out ?? `${input.replace(/\.jsonl$/, '')}.html`)
    if (json && out !== undefined) throw badOption('--json prints to standard output: it goes without --out.')
    if (target === input) throw badOption('--out is the recording itself.')
    return { input, out: target, json, force }
  })
}

function createCommand(): Command {
  return new Command('txlane report')
    .description(
      'Makes one page of a recording (see recordTo of txlane/recorder): nonces against time, latency, throughput, and ' +
        'what went wrong and how it ended. The page loads nothing from anywhere. Exit code 0 when it is written, 1 ' +
        'when the recording cannot be read, 2 for bad options.',
    )
    .argument('<recording>', 'a file that recordTo wrote')
    .option('--out <file>', 'the page (default: beside the recording, .html)')
    .option('--json', 'the figures as one JSON object on standard output in place of a page', false)
    .option('--force', 'write over a file that is not a report', false)
}

/** Makes the report, and prints where it is. The exit code. */
export async function runReport(options: ReportOptions): Promise<number> {
  // First: a large recording takes a while, and who is to be refused need not wait for it.
  if (!options.json) await checkWritable(options)
  const model = await modelOf(options.input)
  if (options.json) {
    await write(`${JSON.stringify(model.summary)}\n`)
    return EXIT.held
  }
  const page = renderPage({ title: nameOf(options.input), model, script: await pageScript() })
  await writeReport(options.out, page)
  await write(`${options.out}\n`)
  return EXIT.held
}

async function modelOf(input: string): Promise<Model> {
  try {
    return await buildModel(readRecording(createReadStream(input)))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${nameOf(input)}: ${reason}`)
  }
}
