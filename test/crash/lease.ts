import { existsSync } from 'node:fs'
import type { Address } from 'viem'
import type { LifeOrder } from './asks.js'

/** Expires the lease of a lane, as if its owner had died long ago. */
export type Leases = AsyncDisposable & { runOut(address: Address): Promise<void> }

/**
 * A lease lasts ten seconds, and a sweep would wait for hundreds of them. All but a few are therefore
 * expired in the store's own tables, by moving the time that the next process compares with its clock.
 * Nothing else changes: the next process finds the owner and the epoch as the dead process left them.
 */
export async function openLeases(store: LifeOrder['store']): Promise<Leases> {
  switch (store.kind) {
    case 'memory':
      // The lease died with the process, like all of this store.
      return { async runOut() {}, async [Symbol.asyncDispose]() {} }
    case 'sqlite':
      return sqliteLeases(store.path)
    case 'postgres':
      return postgresLeases(store.connectionString, store.schema)
    default:
      return store satisfies never
  }
}

async function sqliteLeases(path: string): Promise<Leases> {
  const { default: Database } = await import('libsql')
  return {
    async runOut(address) {
      // Does not create the file: a life that was killed early may have left none, and the next one begins
      // without it.
      if (!existsSync(path)) return
      const database = new Database(path)
      try {
        database.exec('PRAGMA busy_timeout = 5000')
        const [tables] = database
          .prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'lane'")
          .raw()
          .get() as [number]
        if (tables === 0) return
        database.prepare('UPDATE lane SET until_ms = 0 WHERE address = ?').run(address.toLowerCase())
      } finally {
        database.close()
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function postgresLeases(connectionString: string, schema: string): Promise<Leases> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString, max: 1 })
  // An idle connection was lost; the next query reports that.
  pool.on('error', () => {})
  return {
    async runOut(address) {
      const found = await pool.query('SELECT to_regclass($1) AS lanes', [`${schema}.lanes`])
      if (found.rows[0]?.lanes === null) return
      await pool.query(
        `UPDATE ${schema}.lanes SET expires_at = clock_timestamp() WHERE address = $1 AND holder IS NOT NULL`,
        [address.toLowerCase()],
      )
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
