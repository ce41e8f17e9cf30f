import { type Colors, colors } from '../../tools/cli/shared/output.js'
import { answer, EXIT, endWith, write } from '../../tools/cli/shared/program.js'
import { endAfter } from '../support/endAfter.js'
import { openServer } from '../sweep/place.js'
import { type ClusterOptions, parseOptions } from './options.js'
import { renderReport } from './result.js'
import { runCluster } from './run.js'
import { renderService } from './service/result.js'
import { runService } from './service/run.js'

// Timeouts: for starting and checking, for each fault in addition, and for each transaction. They are a few
// times the usual duration on a busy machine.
const REST_MS = 600_000
const FAULT_MS = 60_000
const TRANSACTION_MS = 50

async function run(options: ClusterOptions): Promise<number> {
  if (options.postgres !== undefined)
    process.stderr.write('The database is not ours: it is not restarted in this run.\n')
  const paint = colors()
  const show = <T>(result: T, render: (result: T, palette: Colors) => string) =>
    write(options.json ? `${JSON.stringify(result)}\n` : render(result, paint))
  let isOk = true
  if (options.only !== 'service') {
    await using place = await openServer('cluster', options.postgres)
    const result = await runCluster(options, place, say)
    await show(result, renderReport)
    isOk = result.ok
  }
  if (options.only !== 'lanes') {
    await using place = await openServer('service', options.postgres)
    const { kills, ...rest } = options
    // For every two kills one process ends cleanly.
    const result = await runService({ ...rest, kills, ends: Math.ceil(kills / 2) }, place, say)
    await show(result, renderService)
    isOk &&= result.ok
  }
  return isOk ? EXIT.held : EXIT.failed
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

function timeMs({ kills, stops, transactions, requests }: ClusterOptions): number {
  return 2 * (REST_MS + (kills + stops) * FAULT_MS) + (transactions + requests) * TRANSACTION_MS
}

const parsed = parseOptions(process.argv.slice(2))
endAfter(parsed.kind === 'run' ? timeMs(parsed.options) : REST_MS)
endWith(answer(parsed, 'npm run cluster --', run), 'The run', 'stack')
