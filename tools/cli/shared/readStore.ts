import { existsSync } from 'node:fs'
import { redactUrl } from '../../../src/errors/redactUrl.js'
import { openPool, type PgPool } from '../../../src/store/postgres/driver.js'
import { postgresStore } from '../../../src/store/postgres/index.js'
import { sqliteStore } from '../../../src/store/sqlite/index.js'
import type { Store } from '../../../src/types/store.js'
import { Refusal } from './program.js'

/** The path of a `sqliteStore` file, or the URL of a database with a `postgresStore`. */
export type StorePlace = string

const isDatabase = (place: StorePlace) => /^postgres(ql)?:\/\//.test(place)

/** The name of a store for humans, without credentials. */
export const storeName = (place: StorePlace): string => (isDatabase(place) ? redactUrl(place) : place)

/**
 * Opens a store, and closes it after `use`.
 *
 * @throws Refusal if there is no store, because opening one would create it
 */
export async function readStore<t>(place: StorePlace, use: (store: Store) => Promise<t>): Promise<t> {
  if (isDatabase(place)) return readDatabase(place, use)
  if (!existsSync(place)) throw new Refusal(`There is no store at ${place}.`)
  return closing(sqliteStore({ path: place }), use)
}

const SCHEMA = 'txlane'
const TIMEOUT_MS = 10_000

async function readDatabase<t>(url: string, use: (store: Store) => Promise<t>): Promise<t> {
  const pool = await openPool(url, { max: 2, timeoutMs: TIMEOUT_MS })
  try {
    const name = storeName(url)
    const hasStore = await hasSchema(pool).catch((cause: unknown) => {
      throw new Refusal(`The database at ${name} does not answer (${reasonOf(cause)}).`)
    })
    if (!hasStore) throw new Refusal(`The database at ${name} has no schema ${SCHEMA}, so there is no store.`)
    return await closing(postgresStore({ pool, schema: SCHEMA }), use)
  } finally {
    await pool.end()
  }
}

function hasSchema(pool: PgPool): Promise<boolean> {
  const text = 'SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2'
  return new Promise((resolve, reject) =>
    pool.connect((error, client) => {
      if (client === undefined) return reject(error)
      client
        .query({ text, values: [SCHEMA, 'migrations'] })
        .then(({ rows }) => resolve(rows.length > 0), reject)
        .finally(() => client.release())
    }),
  )
}

/** The code alone: a message of the driver may contain parts of the URL. */
const reasonOf = (cause: unknown): string => (cause as { code?: string }).code ?? 'an unknown error'

async function closing<t>(store: Store, use: (store: Store) => Promise<t>): Promise<t> {
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
