import { colors } from '../tools/cli/shared/output.js'
import { answer, EXIT, endWith, write } from '../tools/cli/shared/program.js'
import { writeCharts } from './chart.js'
import { type BenchOptions, parseOptions } from './options.js'
import { renderResults } from './report.js'
import { isReached, writeResults } from './result.js'
import { runClaims } from './run.js'

async function run(options: BenchOptions): Promise<number> {
  const results = await runClaims(options)
  writeResults(options.out, results)
  await writeCharts(options.out, results)
  const all = Object.values(results)
  await write(options.json ? `${JSON.stringify(results)}\n` : renderResults(results, colors()))
  if (all.some((result) => 'failed' in result)) return EXIT.failed
  return options.check && !all.every(isReached) ? EXIT.failed : EXIT.held
}

endWith(answer(parseOptions(process.argv.slice(2)), 'npm run bench --', run), 'The run', 'stack')
