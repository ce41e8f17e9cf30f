import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../support/postgres.js'
import type { StoreSettings } from './settings.js'

/** The store of a sweep. Disposal deletes its data. */
export type Place = AsyncDisposable & {
  readonly store: StoreSettings
  /** Undefined for a server that the sweep did not start. */
  readonly restart: (() => Promise<void>) | undefined
}

/** Starts a server; or uses the one of that connection string, in a schema that is dropped at the end. */
export async function openServer(name: string, connectionString: string | undefined): Promise<Place> {
  const schema = `txlane_${name}`
  if (connectionString !== undefined) {
    const own = `${schema}_${process.pid}`
    return {
      store: { kind: 'postgres', connectionString, schema: own },
      restart: undefined,
      [Symbol.asyncDispose]: () => dropSchema(connectionString, own),
    }
  }
  const server = await startPostgres()
  return {
    store: { kind: 'postgres', connectionString: server.connectionString, schema },
    restart: server.restart,
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/** One file, for processes on one machine. */
export async function openFile(name: string): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), `txlane-${name}-`))
  return {
    store: { kind: 'sqlite', path: join(folder, 'lanes.db') },
    restart: undefined,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function dropSchema(connectionString: string, schema: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  await client.end()
}
