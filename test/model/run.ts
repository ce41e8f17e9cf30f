import { TABLE } from '../../src/ledger/table.js'
import { transition } from '../../src/ledger/transition.js'
import { optionsOrEnd } from '../support/optionsOrEnd.js'
import { parseOptions } from './options.js'
import { search } from './search.js'
import type { Machine } from './shell.js'
import { createSystem } from './system.js'
import type { Scope } from './world.js'

const values = await optionsOrEnd(parseOptions(process.argv.slice(2)), 'npm run model --')

function run(scope: Scope) {
  const taken = new Set<number>()
  const counting: Machine = (nonce, slot, event) => {
    const result = transition(nonce, slot, event)
    taken.add(result.row)
    return result
  }
  const began = performance.now()
  const seconds = () => Math.round((performance.now() - began) / 100) / 10
  const { statesMax } = values
  const onDepth = (depth: number, states: number) => {
    if (values.progress) console.error(`depth ${depth}: ${states} states, ${seconds()} s`)
  }
  const found = search(createSystem(scope, counting), { statesMax, onDepth })
  const rows = TABLE.map(({ row }) => row).filter((row) => taken.has(row))
  const megabytes = Math.round(process.memoryUsage().rss / 1e6)
  return { scope: scope.name, ...found, seconds: seconds(), megabytes, rows }
}

let broken = false
for (const scope of values.scopes) {
  const atMost = values.budget ?? scope.atMost
  const result = run(atMost === undefined ? scope : { ...scope, atMost })
  const { states, steps, depth, cut, seconds, megabytes, violation, rows } = result
  broken ||= violation !== undefined
  if (values.json) console.log(JSON.stringify(result))
  else {
    const end = cut ? `cut at depth ${depth}` : `fixed point, ${depth} deep`
    console.log(`${scope.name}: ${states} states, ${steps} steps, ${end}, ${seconds} s, ${megabytes} MB`)
    console.log(`  rows ${rows.join(' ')}`)
    if (violation) console.log(`  ${violation.text}\n    ${violation.trace.join('\n    ')}`)
  }
}
process.exitCode = broken ? 1 : 0
