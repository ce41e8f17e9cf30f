import type { Migration } from './index.js'

/** How long a lease lasts, to tell one that ends too far ahead. A process of the former version takes them for 10 s. */
export const leaseLength: Migration = {
  version: 2,
  sql: (schema) => `ALTER TABLE ${schema}.lanes ADD COLUMN lease_ms double precision NOT NULL DEFAULT 10000`,
}
