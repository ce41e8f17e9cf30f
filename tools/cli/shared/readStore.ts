import { existsSync } from 'node:fs'
import { redactUrl } from '../../../src/errors/redactUrl.js'
import { openPool, type PgPool } from '../../../src/store/postgres/driver.js'
import { postgresStore } from '../../../src/store/postgres/index.js'
import { sqliteStore } from '../../../src/store/sqlite/index.js'
import type { Store } from '../../../src/types/store.js'
import { Refusal } from './program.js'

/** A `sqliteStore` by its path, or a `postgresStore` by the URL of its database and its schema. */
export type StorePlace = { readonly at: string; readonly schema: string }

/** The schema of a `postgresStore` without the option. */
export const DEFAULT_SCHEMA = 'txlane'

export const isDatabase = (at: string): boolean => /^postgres(ql)?:\/\//.test(at)

/** The name of a store for humans, without credentials. */
export function storeName({ at, schema }: StorePlace): string {
  if (!isDatabase(at)) return at
  return schema === DEFAULT_SCHEMA ? redactUrl(at) : `schema ${schema} of ${redactUrl(at)}`
}

/**
 * Opens a store, and closes it after `use`.
 *
 * @throws Refusal if there is no store, because opening one would create it
 */
export async function readStore<t>(place: StorePlace, use: (store: Store) => Promise<t>): Promise<t> {
  if (isDatabase(place.at)) return readDatabase(place, use)
  if (!existsSync(place.at)) throw new Refusal(`There is no store at ${place.at}.`)
  return closing(sqliteStore({ path: place.at }), use)
}

const TIMEOUT_MS = 10_000

async function readDatabase<t>({ at, schema }: StorePlace, use: (store: Store) => Promise<t>): Promise<t> {
  const pool = await openPool(at, { max: 2, timeoutMs: TIMEOUT_MS })
  try {
    const name = redactUrl(at)
    const schemas = await schemasIn(pool).catch((cause: unknown) => {
      throw new Refusal(`The database at ${name} does not answer (${reasonOf(cause)}).`)
    })
    if (!schemas.includes(schema))
      throw new Refusal(
        `The database at ${name} has no store in the schema ${schema}. ${othersText(schemas)}`,
      )
    return await closing(postgresStore({ pool, schema }), use)
  } finally {
    await pool.end()
  }
}

const othersText = (schemas: readonly string[]): string =>
  schemas.length === 0
    ? 'It has none in another schema either.'
    : `It has one in ${schemas.join(', ')}: name the schema with --schema.`

/** Tables of the first version. Other programs have some of these names as well, and are left alone. */
const TABLES = ['migrations', 'chains', 'lanes', 'slots', 'transactions', 'hashes']

/** The schemas with a store. */
function schemasIn(pool: PgPool): Promise<readonly string[]> {
  const text = `SELECT schemaname FROM pg_catalog.pg_tables WHERE tablename = ANY($1)
    GROUP BY schemaname HAVING count(*) = $2 ORDER BY schemaname`
  return new Promise((resolve, reject) =>
    pool.connect((error, client) => {
      if (client === undefined) return reject(error)
      client
        .query({ text, values: [TABLES, TABLES.length] })
        .then(({ rows }) => resolve(rows.map(({ schemaname }) => String(schemaname))), reject)
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
