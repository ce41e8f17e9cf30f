import type { Migration } from './index.js'

/**
 * The commands of other processes were called wishes. The view serves processes of the former version, which
 * insert into it, delete from it and read it: PostgreSQL updates the table behind it.
 */
export const commands: Migration = {
  version: 7,
  sql: (schema) => `
    ALTER TABLE ${schema}.wishes RENAME TO commands;
    CREATE VIEW ${schema}.wishes AS SELECT lane, sequence, id, body FROM ${schema}.commands`,
}
