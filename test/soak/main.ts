import { redactText } from '../../src/errors/redact.js'
import { readOptions } from './options.js'
import { runSoak } from './run.js'
import { renderSummary } from './summary.js'

const options = readOptions(process.argv.slice(2))
const stop = new AbortController()
// The first signal ends the load, and what was sent is still checked; the second ends the process.
process.once('SIGINT', () => stop.abort())

runSoak(options, createSay(), stop.signal).then(
  (result) => {
    process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : renderSummary(result))
    process.exitCode = result.ok ? 0 : 1
  },
  (error: unknown) => {
    process.stderr.write(
      `The soak failed: ${redactText(error instanceof Error ? error.message : String(error))}\n`,
    )
    // Its senders may be open still, and keep it alive.
    process.exit(1)
  },
)

/** One line that is written over in a terminal, and lines of their own in a file. */
function createSay(): (line: string) => void {
  const { stderr } = process
  return (line) => stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
}
