import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemRandom } from '../../src/platform/clock.js'
import { optionsOrEnd } from '../support/optionsOrEnd.js'
import { KNOWN_SEQUENCES } from './knownSequences.js'
import { parseOptions } from './options.js'
import { explain, type Result, runKnown, runRandom } from './run.js'

const newSeed = Math.floor(systemRandom() * 2 ** 31)
const options = await optionsOrEnd(parseOptions(process.argv.slice(2), newSeed), 'npm run geth')
let failed = 0

function report({ name, replay, ...compared }: Result): void {
  const alike = compared.difference === undefined
  if (!alike) failed++
  process.stdout.write(`${alike ? 'ok  ' : 'FAIL'} ${name}: ${explain(compared)}\n`)
  if (!alike) process.stdout.write(`  replay: ${replay}\n`)
}

const sequences = [
  ...KNOWN_SEQUENCES.filter(({ name }) => options.known.includes(name)).map((known) => () => runKnown(known)),
  ...options.seeds.map((seed) => () => runRandom(seed)),
]
for (const run of sequences) {
  const result = await run()
  report(result)
  if (options.record === undefined) continue
  const file = `${result.name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.json`
  await writeFile(join(options.record, file), `${JSON.stringify(result.recording)}\n`)
}
process.exit(failed === 0 ? 0 : 1)
