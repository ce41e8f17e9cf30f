import type pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { storeContract } from '../../src/store/contract/index.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { postgresPool } from '../support/postgresPool.js'

let server: TestPostgres
let raw: pg.Pool

beforeAll(async () => {
  server = await startPostgres()
  raw = postgresPool({ connectionString: server.connectionString, max: 1 })
})
afterAll(async () => {
  await raw?.end()
  await server?.stop()
})

describe('postgresStore satisfies the store contract, over two pools', () => {
  const open = () => postgresStore({ connectionString: server.connectionString })
  const setBack = async (ms: number) => {
    const interval = `${ms} milliseconds`
    await raw.query('UPDATE txlane.lanes SET expires_at = expires_at + $1::interval', [interval])
  }
  for (const { name, run } of storeContract({ open, reopen: open, setBack })) it(name, run)
})
