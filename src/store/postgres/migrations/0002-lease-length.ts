import type { Migration } from './index.js'

/**
 * The length of a lease, to detect one that ends too far in the future. A process of the former version takes
 * leases of 10 s.
 */
export const leaseLength: Migration = {
  version: 2,
  sql: (schema) => `ALTER TABLE ${schema}.lanes ADD COLUMN lease_ms double precision NOT NULL DEFAULT 10000`,
}
