import { TxlaneError } from '../../errors/base.js'
import type { PgClient } from './driver.js'
import { type Migration, migrations } from './migrations/index.js'

/**
 * Migrates the schema to the newest version that this code knows. Each step is a transaction of its own,
 * under a lock that serialises processes that start at once. Needs no permissions if there is nothing to do.
 *
 * @throws `UNSUPPORTED` if the schema is newer than this code
 */
export async function migrate(
  client: PgClient,
  schema: string,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  const newest = steps.length
  const found = await versionOf(client, schema)
  if (found > newest) throw tooNew(schema, found, newest)
  for (const step of steps.slice(found)) await take(client, schema, step)
}

async function versionOf(client: PgClient, schema: string): Promise<number> {
  // Not to_regclass: its cache may be older than the lock that was waited for.
  const { rows } = await client.query({
    text: 'SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2',
    values: [schema, 'migrations'],
  })
  if (rows.length === 0) return 0
  const { rows: versions } = await client.query({
    text: `SELECT coalesce(max(version), 0) AS version FROM "${schema}".migrations`,
  })
  return Number(versions[0]?.version)
}

async function take(client: PgClient, schema: string, { version, sql }: Migration): Promise<void> {
  const name = `"${schema}"`
  await client.query({ text: 'BEGIN' })
  try {
    await client.query({
      text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
      values: [`txlane:migrate:${schema}`],
    })
    // Another process may have applied it while this one waited.
    if ((await versionOf(client, schema)) < version) {
      await client.query({
        text: `CREATE SCHEMA IF NOT EXISTS ${name};
          CREATE TABLE IF NOT EXISTS ${name}.migrations (
            version integer PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
          );
          ${sql(name)};
          INSERT INTO ${name}.migrations (version) VALUES (${version})`,
      })
    }
    await client.query({ text: 'COMMIT' })
  } catch (error) {
    // If the connection is lost, the transaction is rolled back anyway.
    await client.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}

function tooNew(schema: string, found: number, newest: number): TxlaneError {
  return new TxlaneError(
    `The schema ${schema} has version ${found}; this version of txlane knows ${newest} and may not write to it.`,
    { code: 'UNSUPPORTED', fate: 'notExecuted', metaMessages: ['Update txlane in this process.'] },
  )
}
