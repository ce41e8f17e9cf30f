import type { Migration } from './index.js'

/**
 * The columns by which lists are sorted and filtered. A process of the former version does not write them,
 * and gives no creation time. Bodies are matched as text, because the server may not accept them as JSON.
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
