import type { Migration } from './index.js'

/**
 * A delivery is deleted with its transaction, also if a process of the former version deletes that. So there
 * is a foreign key. It is checked when a delivery is written, and never when a transaction is.
 */
export const outboxes: Migration = {
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
}
