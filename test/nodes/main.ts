import { optionsOrEnd } from '../support/optionsOrEnd.js'
import { cases } from './cases/index.js'
import { nodes } from './nodes/index.js'
import { parseOptions } from './options.js'
import { isCovered, leftOut, openSetting, runCase } from './run/runCase.js'
import { firstLine } from './tools/firstLine.js'

const options = await optionsOrEnd(parseOptions(process.argv.slice(2)), 'npm run nodes')
const says = (line: string): void => void process.stdout.write(`${line}\n`)
let failed = 0

for (const description of nodes) {
  if (!options.node.includes(description.name)) continue
  await runNode(description)
}
// Senders of a failed case may still be open and keep the process alive.
process.exit(failed === 0 ? 0 : 1)

async function runNode(description: (typeof nodes)[number]): Promise<void> {
  const { name } = description
  const command = await description.locate(says).catch((error: unknown) => {
    says(`${options.require ? 'FAIL' : '-   '} ${name}: left out: ${firstLine(error)}`)
    if (options.require) failed++
  })
  if (command === undefined) return
  if (options.get) return says(`ok   ${name}: ${command(0).file}`)
  await using setting = openSetting(description, command)
  for (const one of cases) {
    if (!isCovered(one, description) || !options.only.every((word) => one.name.includes(word))) continue
    const why = leftOut(one, description)
    if (why !== undefined) {
      says(`-    ${name} · ${one.name}: left out: ${why}`)
      continue
    }
    const { ok, says: figure } = await runCase(one, setting)
    says(`${ok ? 'ok  ' : 'FAIL'} ${name} · ${one.name}: ${figure}`)
    if (!ok) failed++
  }
}
