import type { Migration } from './index.js'

/** What a holder says of its lane counts for its epoch alone. A process of the former version says nothing. */
export const reports: Migration = {
  version: 5,
  sql: (schema) => `ALTER TABLE ${schema}.lanes ADD COLUMN report text, ADD COLUMN report_epoch bigint`,
}
