import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../support/postgres.js'
import type { StoreSettings } from './settings.js'

/** Where the store of a sweep is. What it leaves behind is taken away in the end. */
export type Place = AsyncDisposable & {
  readonly store: StoreSettings
  /** Undefined for a server that is not ours. */
  readonly restart: (() => Promise<void>) | undefined
}

/** A server that is started; or the one of that address, in a schema that is dropped again. */
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
