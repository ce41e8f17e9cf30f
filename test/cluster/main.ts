import { createColors } from 'picocolors'
import { answer, EXIT, endAfter, endWith, write } from '../../tools/cli/shared/program.js'
import { wantsColors } from '../support/wantsColors.js'
import { openServer } from '../sweep/place.js'
import { type ClusterOptions, parseOptions } from './options.js'
import { renderReport } from './report.js'
import { runCluster } from './run.js'
import { renderService } from './service/result.js'
import { runService } from './service/run.js'

// For starting and checking, for each fault on top of that, and for each transaction: a few times what they take on a
// busy machine.
const REST_MS = 600_000
const FAULT_MS = 60_000
const TRANSACTION_MS = 50

async function run(options: ClusterOptions): Promise<number> {
  if (options.postgres !== undefined)
    process.stderr.write('The database is not ours: it is not restarted in this run.\n')
  const colors = createColors(wantsColors())
  const show = <T>(result: T, render: (result: T, palette: typeof colors) => string) =>
    write(options.json ? `${JSON.stringify(result)}\n` : render(result, colors))
  let isOk = true
  if (options.only !== 'service') {
    await using target = await openServer('cluster', options.postgres)
    const result = await runCluster(options, target, say)
    await show(result, renderReport)
    isOk = result.ok
  }
  if (options.only !== 'lanes') {
    await using target = await openServer('service', options.postgres)
    const { kills, ...rest } = options
    // For every two kills one process ends as it should.
    const result = await runService({ ...rest, kills, ends: Math.ceil(kills / 2) }, target, say)
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
