import { redactText } from '../../src/errors/redact.js'
import { readOptions } from './options.js'
import { runSoak } from './run.js'
import { renderSummary } from './summary.js'

const options = readOptions(process.argv.slice(2))
const stop = new AbortController()
// The first signal ends the load, and the sent transactions are still checked; the second ends the process.
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
    // Its senders may still be open and keep it alive.
    process.exit(1)
  },
)

/** Prints one line that is overwritten in a terminal, and separate lines in a file. */
function createSay(): (line: string) => void {
  const { stderr } = process
  return (line) => stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
}
