import { afterAll, beforeAll, describe, it } from 'vitest'
import { storeContract } from '../../src/store/contract/index.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'

let server: TestPostgres

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())

describe('postgresStore keeps the contract of a store, over two pools', () => {
  const open = () => postgresStore({ connectionString: server.connectionString })
  for (const { name, run } of storeContract({ open, reopen: open })) it(name, run)
})
