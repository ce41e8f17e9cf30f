import type { Migration } from './index.js'

/**
 * What a list is in the order of, and what it is asked for. A process of the former version names none of them, and
 * gives no time. A body is read as text: what one holds may be no JSON to the server.
 */
export const listed: Migration = {
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
}
