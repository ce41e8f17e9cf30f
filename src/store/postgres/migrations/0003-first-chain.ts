import type { Migration } from './index.js'

/** The chain that was kept first of those with one id: of two processes that name theirs at once, one does. */
export const firstChain: Migration = {
  version: 3,
  sql: (schema) => `
    ALTER TABLE ${schema}.chains ADD COLUMN first boolean;
    CREATE UNIQUE INDEX chains_first ON ${schema}.chains (chain_id) WHERE first`,
}
