import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { ended } from '../support/ended.js'
import { pause } from '../support/pause.js'
import { fresh } from './sendPackSupport.js'

const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))
let devnet: Devnet
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-killed-'))
  devnet = await startDevnet({ mining: 'manual' })
})
afterAll(async () => {
  await devnet.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Ends the process at once, after its journal has its name and before it does anything else. */
const KILLED = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  const { rename } = fs
  fs.rename = async (from, to) => {
    await rename(from, to)
    if (String(to).endsWith('.txlane.json')) process.kill(process.pid, 'SIGKILL')
  }
  syncBuiltinESMExports()`)}`

function start(args: readonly string[], account: number, node: readonly string[] = []) {
  const child = spawn(process.execPath, [...node, program, ...args], {
    env: { PATH: process.env.PATH, TXLANE_RPC_URL: devnet.url, TXLANE_PRIVATE_KEY: accountKey(account) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { child, ended: ended(child) }
}

/** Seals blocks until the process has ended. */
async function whileSealing<t>(process: Promise<t>): Promise<t> {
  let isOver = false
  const over = process.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await devnet.seal()
    await pause(20)
  }
  return over
}

const send = (path: string, account: number) => whileSealing(start(['send', path, '--yes'], account).ended)

async function payout(name: string, count: number) {
  const path = join(folder, `${name}.csv`)
  const payees = fresh(count)
  await writeFile(path, ['to,amount', ...payees.map((to, index) => `${to},${index + 1} gwei`)].join('\n'))
  const paid = () =>
    Promise.all(payees.map(async (address) => Number(await devnet.client().getBalance({ address })) / 1e9))
  const isThere = (ending: string) => existsSync(`${path}${ending}`)
  return { path, paid, isThere }
}

async function killedBeforeDatabase(path: string, account: number) {
  const { ended } = start(['send', path, '--yes'], account, ['--import', KILLED])
  expect((await ended).code).toBe(null)
}

test('a run that was killed between its journal and its database goes on, and pays each line once', async () => {
  const { path, paid, isThere } = await payout('between', 3)
  await killedBeforeDatabase(path, 0)
  expect([isThere('.txlane.json'), isThere('.txlane.db')]).toEqual([true, false])
  // A dry run creates no database.
  const { ended } = start(['send', path, '--dry-run'], 0)
  expect((await ended).code).toBe(0)
  expect(isThere('.txlane.db')).toBe(false)
  expect(await paid()).toEqual([0, 0, 0])
  expect(await send(path, 0)).toMatchObject({ code: 0, out: expect.stringContaining('3 of 3 lines') })
  expect((await send(path, 0)).out).toContain('all 3 lines were paid before')
  expect(await paid()).toEqual([1, 2, 3])
})

test('it is refused if the account has sent a transaction meanwhile', async () => {
  const { path, paid } = await payout('meanwhile', 2)
  await killedBeforeDatabase(path, 1)
  await devnet.foreign({ account: devnet.accounts[1]!.address, to: fresh(1)[0], value: 1n })
  await devnet.seal()
  expect(await send(path, 1)).toMatchObject({
    code: 3,
    err: expect.stringMatching(
      /has sent 1 transaction since\. .*meanwhile\.csv\.txlane\.db is missing\. Restore it\./s,
    ),
  })
  expect(await paid()).toEqual([0, 0])
})

test('a run whose database was lost after it signed is refused, though the account has sent nothing yet', async () => {
  const { path, paid } = await payout('signed', 2)
  const run = start(['send', path, '--yes'], 2)
  while ((await devnet.pool()).length < 2) await pause(20)
  run.child.kill('SIGKILL')
  await run.ended
  const waiting = (await devnet.pool()).map(({ hash }) => hash)
  for (const ending of ['', '-wal', '-shm']) await rm(`${path}.txlane.db${ending}`, { force: true })
  // Another node of the chain has the transactions, and this one counts none of them.
  expect(JSON.parse(await readFile(`${path}.txlane.json`, 'utf8'))).toMatchObject({ opened: true })
  for (const hash of waiting) await devnet.evict(hash)
  const count = { address: devnet.accounts[2]!.address, blockTag: 'pending' } as const
  expect(await devnet.client().getTransactionCount(count)).toBe(0)
  expect(await send(path, 2)).toMatchObject({
    code: 3,
    err: expect.stringContaining('which records the payments, is missing. Restore it.'),
  })
  expect(await paid()).toEqual([0, 0])
})
