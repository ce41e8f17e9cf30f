import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Ended, ended } from '../support/ended.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

type Report = { numPassedTests: number; numTotalTests: number; testResults: { message: string }[] }

/** As its README describes, with `txlane` resolved to the source. */
function runVitest(): Promise<Ended> {
  const args = [
    'run',
    '--root',
    'examples/devnet-fixture',
    '--config',
    '../../test/support/examples.config.ts',
  ]
  const vitest = `${ROOT}node_modules/vitest/vitest.mjs`
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [vitest, ...args, '--reporter', 'json'], {
    cwd: ROOT,
    // The child is not part of the test run that starts it, so it gets none of Vitest's variables.
    env: { PATH, HOME, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return ended(child)
}

test("a bot's own tests run on the devnet, including faults", async () => {
  const { code, out, err } = await runVitest()
  expect(code, `${out}\n${err}`).toBe(0)
  const report = JSON.parse(out.slice(out.indexOf('{'))) as Report
  expect(report).toMatchObject({ numPassedTests: 3, numTotalTests: 3 })
}, 300_000)
