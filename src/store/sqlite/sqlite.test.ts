import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { storeContract } from '../contract/storeContract.js'
import { sqliteStore } from './sqliteStore.js'

const folder = mkdtempSync(join(tmpdir(), 'txlane-sqlite-'))
const path = join(folder, 'lanes.db')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('two connections to one file keep the contract', () => {
  const open = () => sqliteStore({ path, synchronous: 'NORMAL' })
  for (const { name, run } of storeContract({ open, reopen: open })) it(name, run)
})
