import { optionsOrEnd } from '../support/optionsOrEnd.js'
import { parseOptions } from './options.js'
import { runScenario, scenarios } from './scenarios.js'

const names = scenarios.map(({ name }) => name)
const options = await optionsOrEnd(parseOptions(process.argv.slice(2), names), 'npm run nodes')
const chosen = scenarios.filter(({ name }) => options.only.length === 0 || options.only.includes(name))
let failed = 0
for (const scenario of chosen) {
  const { ok, leftOut, says } = await runScenario(scenario)
  process.stdout.write(`${ok ? 'ok  ' : leftOut ? '-   ' : 'FAIL'} ${scenario.name}: ${says}\n`)
  if (!ok && (!leftOut || options.require)) failed++
}
// Senders of a scenario that failed may be open still, and keep the process alive.
process.exit(failed === 0 ? 0 : 1)
