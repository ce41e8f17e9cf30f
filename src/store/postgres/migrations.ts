import { TxlaneError } from '../../errors/base.js'
import type { PgClient } from './driver.js'

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

/** One step of the schema. A published step is never changed; the next one corrects it. */
type Migration = { readonly version: number; readonly sql: (schema: string) => string }

/** In order, numbered from 1. */
export const migrations: readonly Migration[] = [
  // Rows of lanes and chains are never deleted, and other tables refer to them by number. There are no foreign
  // keys, because each would be checked for every written row. Names use the C collation, so that they compare
  // byte by byte in every locale.
  {
    version: 1,
    sql: (schema) => `
      CREATE TABLE ${schema}.chains (
        chain integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        chain_id bigint NOT NULL,
        genesis_hash text COLLATE "C" NOT NULL,
        UNIQUE (chain_id, genesis_hash)
      );

      CREATE TABLE ${schema}.lanes (
        lane bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        chain integer NOT NULL,
        address text COLLATE "C" NOT NULL,
        -- The lease (P7).
        epoch bigint NOT NULL DEFAULT 0,
        holder text,
        expires_at timestamptz,
        -- The number of the holder's last write: what comes late, after a newer write or load, is refused.
        fence bigint NOT NULL DEFAULT 0,
        cursor bigint,
        -- The last ones given out.
        sequence bigint NOT NULL DEFAULT 0,
        revision bigint NOT NULL DEFAULT 0,
        UNIQUE (chain, address)
      -- Written over with every write: with room beside it, a new version of the row touches no index.
      ) WITH (fillfactor = 50);
      CREATE INDEX lanes_held ON ${schema}.lanes (holder) WHERE holder IS NOT NULL;

      CREATE TABLE ${schema}.slots (
        lane bigint NOT NULL,
        nonce bigint NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (lane, nonce)
      ) WITH (fillfactor = 70);

      CREATE TABLE ${schema}.transactions (
        chain integer NOT NULL,
        id text COLLATE "C" NOT NULL,
        lane bigint NOT NULL,
        sequence bigint NOT NULL,
        revision bigint NOT NULL,
        stage text NOT NULL,
        ended_at timestamptz,
        body text NOT NULL,
        PRIMARY KEY (chain, id)
      );
      CREATE INDEX transactions_arrived ON ${schema}.transactions (lane, sequence, id);
      CREATE INDEX transactions_changed ON ${schema}.transactions (lane, revision);
      CREATE INDEX transactions_open ON ${schema}.transactions (lane) WHERE ended_at IS NULL;
      CREATE INDEX transactions_ended ON ${schema}.transactions (ended_at) WHERE ended_at IS NOT NULL;

      CREATE TABLE ${schema}.hashes (
        chain integer NOT NULL,
        hash text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        PRIMARY KEY (chain, hash)
      );
      CREATE INDEX hashes_of ON ${schema}.hashes (chain, id);

      CREATE TABLE ${schema}.wishes (
        lane bigint NOT NULL,
        sequence bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (lane, sequence)
      );
    `,
  },
  // The length of a lease, to detect one that ends too far in the future. A process of the former version takes
  // leases of 10 s.
  {
    version: 2,
    sql: (schema) =>
      `ALTER TABLE ${schema}.lanes ADD COLUMN lease_ms double precision NOT NULL DEFAULT 10000`,
  },
  // Marks the first stored chain among those with one id. If two processes store theirs at once, one of them
  // succeeds.
  {
    version: 3,
    sql: (schema) => `
      ALTER TABLE ${schema}.chains ADD COLUMN first boolean;
      CREATE UNIQUE INDEX chains_first ON ${schema}.chains (chain_id) WHERE first`,
  },
  // The columns by which lists are sorted and filtered. A process of the former version does not write them,
  // and gives no creation time. Bodies are matched as text, because the server may not accept them as JSON.
  {
    version: 4,
    sql: (schema) => `
      ALTER TABLE ${schema}.transactions
        ADD COLUMN created_ms double precision NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000,
        ADD COLUMN arrival bigint NOT NULL DEFAULT 0,
        ADD COLUMN group_name text COLLATE "C";
      UPDATE ${schema}.transactions SET arrival = sequence,
        created_ms = coalesce(substring(body FROM '"createdAtMs":([0-9.]+)')::double precision, 0);
      CREATE INDEX transactions_listed ON ${schema}.transactions (lane, created_ms, arrival, id);
      CREATE INDEX transactions_grouped ON ${schema}.transactions (lane, group_name, created_ms, arrival, id)
        WHERE group_name IS NOT NULL`,
  },
  // A report of the lease owner counts only for its epoch. A process of the former version makes none.
  {
    version: 5,
    sql: (schema) => `ALTER TABLE ${schema}.lanes ADD COLUMN report text, ADD COLUMN report_epoch bigint`,
  },
  // A delivery is deleted with its transaction, also if a process of the former version deletes that. So there
  // is a foreign key. It is checked when a delivery is written, and never when a transaction is.
  {
    version: 6,
    sql: (schema) => `
      CREATE TABLE ${schema}.outboxes (
        outbox integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE,
        epoch bigint NOT NULL DEFAULT 0,
        holder text,
        expires_at timestamptz,
        lease_ms double precision NOT NULL DEFAULT 0,
        written boolean NOT NULL DEFAULT false
      );
      CREATE TABLE ${schema}.outbox_lanes (
        outbox integer NOT NULL,
        lane bigint NOT NULL,
        revision bigint NOT NULL,
        PRIMARY KEY (outbox, lane)
      );
      CREATE TABLE ${schema}.deliveries (
        chain integer NOT NULL,
        id text COLLATE "C" NOT NULL,
        outbox integer NOT NULL,
        state text NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (chain, id, outbox),
        FOREIGN KEY (chain, id) REFERENCES ${schema}.transactions (chain, id) ON DELETE CASCADE
      );
      CREATE INDEX deliveries_waiting ON ${schema}.deliveries (outbox, state) WHERE state <> 'told'`,
  },
  // The commands of other processes were called wishes. The view serves processes of the former version, which
  // insert into it, delete from it and read it: PostgreSQL updates the table behind it.
  {
    version: 7,
    sql: (schema) => `
      ALTER TABLE ${schema}.wishes RENAME TO commands;
      CREATE VIEW ${schema}.wishes AS SELECT lane, sequence, id, body FROM ${schema}.commands`,
  },
  // The state `delivered` was called `told`. Most rows have it, so it becomes the default of a new column, and
  // PostgreSQL writes only the other rows. The table is read for the new index; the former one is dropped with
  // its column. A process of the former version still writes `told`, which no statement looks for.
  {
    version: 8,
    sql: (schema) => `
      ALTER TABLE ${schema}.deliveries RENAME COLUMN state TO former_state;
      ALTER TABLE ${schema}.deliveries ADD COLUMN state text NOT NULL DEFAULT 'delivered';
      UPDATE ${schema}.deliveries SET state = former_state WHERE former_state <> 'told';
      ALTER TABLE ${schema}.deliveries DROP COLUMN former_state, ALTER COLUMN state DROP DEFAULT;
      CREATE INDEX deliveries_waiting ON ${schema}.deliveries (outbox, state) WHERE state IN ('open', 'dead')`,
  },
]
