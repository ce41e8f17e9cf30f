import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemRandom } from '../../src/clock.js'
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

for (const known of KNOWN_SEQUENCES.filter(({ name }) => options.known.includes(name))) {
  const result = await runKnown(known)
  report(result)
  if (options.record !== undefined) {
    const file = `${known.name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.json`
    await writeFile(join(options.record, file), `${JSON.stringify(result.recording)}\n`)
  }
}
for (let run = 0; run < options.runs; run++) report(await runRandom(options.seed + run))
process.exit(failed === 0 ? 0 : 1)
