import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/platform/clock.js'
import { bundleChild } from '../../support/bundleChild.js'
import { ended } from '../../support/ended.js'
import type { RunningNode } from '../run/startNode.js'
import { type Fresh, freshAccount } from '../tools/accounts.js'
import { isOnce, landedOf } from '../tools/landed.js'
import { within } from '../tools/within.js'
import { NOBODY } from '../tools/workbench.js'
import { type NodeCase, seconds } from './nodeCase.js'

const LIMIT_MS = 30_000

/** `txlane send` with one file and then with another: most nodes make no block between the two runs. */
export const payouts: NodeCase = {
  name: 'two payout files, one after the other',
  quick: true,
  async run(setting) {
    await using running = await setting.start({ mode: 'plain' })
    await using program = await bundleChild(new URL('../../../tools/cli/main.ts', import.meta.url))
    const fresh = await freshAccount(running)
    const folder = await mkdtemp(join(tmpdir(), 'txlane-payouts-'))
    try {
      const took: string[] = []
      for (const [index, file] of [join(folder, 'first.csv'), join(folder, 'second.csv')].entries()) {
        await writeFile(file, `to,amount\n${NOBODY},${2 * index + 1} wei\n${NOBODY},${2 * index + 2} wei\n`)
        const startMs = systemClock.now()
        await pay(program.path, file, running, fresh)
        took.push(seconds(systemClock.now() - startMs))
      }
      return {
        ok: isOnce(await landedOf(running, fresh), 4),
        says: `first file ${took[0]}, second file ${took[1]}`,
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

/** @throws Error with the output of the command, if it does not pay both lines */
async function pay(program: string, file: string, { url }: RunningNode, { privateKey }: Fresh) {
  const child = spawn(process.execPath, [program, 'send', file, '--yes'], {
    env: { PATH: process.env.PATH, TXLANE_RPC_URL: url, TXLANE_PRIVATE_KEY: privateKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    const { code, out, err } = await within(LIMIT_MS, 'txlane send', ended(child))
    if (code !== 0 || !out.includes('Paid 2 of 2 lines'))
      throw new Error(`txlane send ended with ${code}: ${err || out}`)
  } finally {
    child.kill('SIGKILL')
  }
}
