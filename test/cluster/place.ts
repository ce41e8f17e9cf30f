import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../support/postgres.js'
import type { StoreSettings } from './asks.js'

/** The store that all processes share. */
export type Place = AsyncDisposable & {
  readonly store: StoreSettings
  /** Undefined for a server that is not ours. */
  readonly restart: (() => Promise<void>) | undefined
}

const SCHEMA = 'txlane_cluster'

export async function openPlace(postgres: string | undefined): Promise<Place> {
  if (postgres !== undefined) {
    const schema = `${SCHEMA}_${process.pid}`
    return {
      store: { kind: 'postgres', connectionString: postgres, schema },
      restart: undefined,
      [Symbol.asyncDispose]: () => dropSchema(postgres, schema),
    }
  }
  const server = await startPostgres()
  return {
    store: { kind: 'postgres', connectionString: server.connectionString, schema: SCHEMA },
    restart: server.restart,
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/** One file, for processes on one machine. */
export async function openFile(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'txlane-cluster-'))
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
