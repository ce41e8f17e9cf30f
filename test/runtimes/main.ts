import { rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { accountKey } from '../../tools/devnet/accounts.js'
import { startDevnet } from '../../tools/devnet/index.js'
import { firstLine } from '../nodes/tools/firstLine.js'
import { installPackage, installRuntime, type RuntimeName, runtimes } from './install.js'
import { run } from './run.js'

// `npm run runtimes`: sends five transactions with the packed root entry on Bun, Deno and workerd. The root entry uses no
// module of Node, and this proves it. It is not part of `npm test`, because the three runtimes have 300 MB. A runtime that
// npm cannot install is left out with one line, or fails with `--require`.

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { require: { type: 'boolean', default: false } },
})
const names = Object.keys(runtimes) as RuntimeName[]
const chosen = names.filter((name) => positionals.length === 0 || positionals.includes(name))
const SEALED = Array.from({ length: 5 }, () => 'success').join()

const binaries = new Map<RuntimeName, string>()
for (const name of chosen) {
  await installRuntime(name).then(
    (binary) => void binaries.set(name, binary),
    (error: unknown) => {
      if (values.require) process.exitCode = 1
      console.log(`${values.require ? 'FAIL' : '-   '} ${name}: left out: ${firstLine(error)}`)
    },
  )
}
if (binaries.size > 0) await runAll()

async function runAll(): Promise<void> {
  const folder = await installPackage()
  try {
    await using devnet = await startDevnet({ blockTimeMs: 400 })
    for (const [name, binary] of binaries) {
      const { version } = runtimes[name]
      const problem = await run[name]({ folder, binary, url: devnet.url, key: accountKey(0) }).then(
        (output) => (output === SEALED ? undefined : output),
        (error: Error & { stderr?: string }) => error.stderr || error.message,
      )
      if (problem !== undefined) process.exitCode = 1
      console.log(
        problem === undefined
          ? `ok   ${name} ${version}: 5 of 5 sealed`
          : `FAIL ${name} ${version}: ${problem}`,
      )
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
