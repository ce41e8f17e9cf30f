import { createColors } from 'picocolors'
import { answer, EXIT, endAfter, endWith, write } from '../../src/cli/program.js'
import { wantsColors } from '../support/wantsColors.js'
import { openServer } from '../sweep/place.js'
import { type ClusterOptions, parseOptions } from './options.js'
import { renderReport } from './report.js'
import { runCluster } from './run.js'

// For starting and checking, for each fault on top of that, and for each transaction: a few times what they take on a
// busy machine.
const REST_MS = 600_000
const FAULT_MS = 60_000
const TRANSACTION_MS = 50

async function run(options: ClusterOptions): Promise<number> {
  if (options.postgres !== undefined)
    process.stderr.write('The database is not ours: it is not restarted in this run.\n')
  await using place = await openServer('cluster', options.postgres)
  const result = await runCluster(options, place, (line) => void process.stderr.write(`${line}\n`))
  await write(
    options.json ? `${JSON.stringify(result)}\n` : renderReport(result, createColors(wantsColors())),
  )
  return result.ok ? EXIT.held : EXIT.failed
}

function timeMs({ kills, stops, transactions }: ClusterOptions): number {
  return REST_MS + (kills + stops) * FAULT_MS + transactions * TRANSACTION_MS
}

const parsed = parseOptions(process.argv.slice(2))
endAfter(parsed.kind === 'run' ? timeMs(parsed.options) : REST_MS)
endWith(answer(parsed, 'npm run cluster --', run), 'The run', 'stack')
