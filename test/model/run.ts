import { parseArgs } from 'node:util'
import { TABLE } from '../../src/ledger/table.js'
import { transition } from '../../src/ledger/transition.js'
import { LONG_SCOPES, SCOPES } from './scopes.js'
import { search } from './search.js'
import type { Machine } from './shell.js'
import { createSystem } from './system.js'
import type { Scope } from './world.js'

// npm run model -- [--scope NAME] [--budget K] [--states-max N] [--json] [--progress]
const { values } = parseArgs({
  options: {
    /** One scope only; without it, those that each run of the tests searches. */
    scope: { type: 'string' },
    /** At most so many adversities in one history, instead of what the scope says. */
    budget: { type: 'string' },
    'states-max': { type: 'string' },
    json: { type: 'boolean', default: false },
    /** Says at each depth how far it has come. */
    progress: { type: 'boolean', default: false },
  },
})

const ALL: Readonly<Record<string, Scope>> = { ...SCOPES, ...LONG_SCOPES }

function chosen(): readonly Scope[] {
  if (values.scope === undefined) return Object.values(SCOPES)
  const scope = ALL[values.scope]
  if (scope === undefined)
    throw new Error(`no scope ${values.scope}; there are ${Object.keys(ALL).join(', ')}`)
  return [scope]
}

function run(scope: Scope) {
  const taken = new Set<number>()
  const counting: Machine = (nonce, slot, event) => {
    const result = transition(nonce, slot, event)
    taken.add(result.row)
    return result
  }
  const began = performance.now()
  const seconds = () => Math.round((performance.now() - began) / 100) / 10
  const statesMax = values['states-max'] === undefined ? undefined : Number(values['states-max'])
  const onDepth = (depth: number, states: number) => {
    if (values.progress) console.error(`depth ${depth}: ${states} states, ${seconds()} s`)
  }
  const found = search(createSystem(scope, counting), { statesMax, onDepth })
  const rows = TABLE.map(({ row }) => row).filter((row) => taken.has(row))
  const megabytes = Math.round(process.memoryUsage().rss / 1e6)
  return { scope: scope.name, ...found, seconds: seconds(), megabytes, rows }
}

let broken = false
for (const scope of chosen()) {
  const atMost = values.budget === undefined ? scope.atMost : Number(values.budget)
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
