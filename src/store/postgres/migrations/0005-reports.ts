import type { Migration } from './index.js'

/** A report of the lease owner counts only for its epoch. A process of the former version makes none. */
export const reports: Migration = {
  version: 5,
  sql: (schema) => `ALTER TABLE ${schema}.lanes ADD COLUMN report text, ADD COLUMN report_epoch bigint`,
}
