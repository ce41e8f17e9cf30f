import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { ended } from '../support/ended.js'

const ANNA = '0x000000000000000000000000000000000000a11a'
const BOB = '0x0000000000000000000000000000000000000B0b'
const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))
let devnet: Devnet
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-copied-'))
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
})
afterAll(async () => {
  await devnet.stop()
  await rm(folder, { recursive: true, force: true })
})

const txlane = (args: readonly string[]) =>
  ended(
    spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env.PATH, TXLANE_RPC_URL: devnet.url, TXLANE_PRIVATE_KEY: accountKey(0) },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )

const balanceOf = (address: typeof ANNA | typeof BOB) => devnet.client().getBalance({ address })

test('after a run its database is complete in one file, and a run from a copy without its rows is refused', async () => {
  const path = join(folder, 'copied.csv')
  await writeFile(path, `to,amount\n${ANNA},7 gwei\n`)
  expect((await txlane(['send', path, '--yes'])).code).toBe(0)
  expect(existsSync(`${path}.txlane.db-wal`) ? (await stat(`${path}.txlane.db-wal`)).size : 0).toBe(0)
  const paid = await balanceOf(ANNA)
  for (const beside of ['-wal', '-shm']) await rm(`${path}.txlane.db${beside}`, { force: true })
  expect((await txlane(['send', path, '--yes'])).out).toContain('all 1 line was paid before')
  const other = sqliteStore({ path: join(folder, 'empty.db') })
  await other.list([], { limit: 1 })
  await other.close()
  await rename(join(folder, 'empty.db'), `${path}.txlane.db`)
  expect(await txlane(['send', path, '--yes'])).toMatchObject({
    code: 3,
    err: expect.stringMatching(
      /has sent \d+ transactions? since\. .*copied without .*copied\.csv\.txlane\.db-wal/,
    ),
  })
  expect(await balanceOf(ANNA)).toBe(paid)
})

test('results that cannot be written fail the run after its summary, and the next run writes them', async () => {
  const path = join(folder, 'unwritable.csv')
  await writeFile(path, `to,amount\n${BOB},3 gwei\n`)
  await mkdir(`${path}.results.csv`)
  const { code, out, err } = await txlane(['send', path, '--yes'])
  expect(code).toBe(1)
  expect(out).toContain('Paid 1 of 1 line, 3 gwei.')
  expect(err).toContain(`${path}.results.csv cannot be written: `)
  expect(err).toContain('the next one writes the results again')
  await rm(`${path}.results.csv`, { recursive: true })
  expect((await txlane(['send', path, '--yes'])).code).toBe(0)
  expect(existsSync(`${path}.results.csv`)).toBe(true)
  expect(await balanceOf(BOB)).toBe(3_000_000_000n)
})

test.each(['cancel', 'speed-up'])('%s refuses the journal of a file that was never sent', async (command) => {
  const path = join(folder, 'unsent.csv')
  await writeFile(path, `to,amount\n${BOB},3 gwei\n`)
  expect(await txlane([command, 'a-1', '--journal', path, '--yes'])).toMatchObject({
    code: 3,
    err: expect.stringContaining(`${path} was not sent from here: there is no ${path}.txlane.db.`),
  })
  expect(existsSync(`${path}.txlane.db`)).toBe(false)
})
