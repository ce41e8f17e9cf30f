import type { Migration } from './index.js'

/**
 * Marks the first stored chain among those with one id. If two processes store theirs at once, one of them
 * succeeds.
 */
export const firstChain: Migration = {
  version: 3,
  sql: (schema) => `
    ALTER TABLE ${schema}.chains ADD COLUMN first boolean;
    CREATE UNIQUE INDEX chains_first ON ${schema}.chains (chain_id) WHERE first`,
}
