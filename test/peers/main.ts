import { colors } from '../../tools/cli/shared/output.js'
import { answer, EXIT, endWith, write } from '../../tools/cli/shared/program.js'
import { endAfter } from '../support/endAfter.js'
import { type PeersOptions, parseOptions } from './options.js'
import { renderTable, resultOf } from './result.js'
import { runAll } from './runner.js'
import { scenarios } from './scenarios/index.js'
import { subjects } from './subjects/index.js'

const LIMIT_MS = 300_000

async function run({ only, senders, json, forkUrl, mode }: PeersOptions): Promise<number> {
  const report = await runAll({
    scenarios: chosen(scenarios, only),
    subjects: chosen(subjects, senders),
    chain: { forkUrl, mode },
    onOutcome: showProgress,
  })
  const result = resultOf(report, chosen(subjects, senders))
  await write(json ? `${JSON.stringify(result)}\n` : renderTable(result, colors()))
  return result.ok ? EXIT.held : EXIT.failed
}

function chosen<t extends { readonly name: string }>(
  all: readonly t[],
  names: readonly string[],
): readonly t[] {
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

function showProgress(done: number, all: number): void {
  if (process.stderr.isTTY) process.stderr.write(done < all ? `\r${done} of ${all} runs` : '\r\u001b[K')
}

const parsed = parseOptions(process.argv.slice(2), {
  scenarios: scenarios.map(({ name }) => name),
  senders: subjects.map(({ name }) => name),
})
endAfter(LIMIT_MS)
// Some of the libraries keep timers and channels open forever, so the process is ended.
endWith(answer(parsed, 'npm run peers --', run), 'The run', 'stack')
