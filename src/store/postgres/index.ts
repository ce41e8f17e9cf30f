import type { Store } from '../../types/store.js'
import type { Context } from './context.js'
import { openDatabase } from './database.js'
import { intakeVerbs } from './intake.js'
import { leaseVerbs } from './leases.js'
import { type PostgresStoreOptions, settingsOf } from './options.js'
import { outboxVerbs } from './outbox.js'
import { createPruner } from './prune.js'
import { readVerbs } from './reads.js'
import { createWatchers } from './watchers.js'
import { holderVerbs } from './writes.js'

export type { PgPool } from './driver.js'
export type { PostgresStoreOptions } from './options.js'

/**
 * Keeps lanes in PostgreSQL, for any number of processes on any number of machines. P2 to P5 hold as long as
 * no acknowledged commit is lost: `synchronous_commit` on, and a synchronous standby if a server may be lost.
 *
 * Needs the package `pg`. Connects on first use and creates its tables in a schema of its own. `watch` needs
 * a permanent connection: behind a pooler that assigns connections per transaction, no notifications arrive.
 *
 * @throws `INVALID` for an invalid option
 *
 * @example
 * const store = postgresStore({ connectionString: 'postgres://txlane@localhost/relayer' })
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const settings = settingsOf(options)
  const { schema, retentionMs, background, random } = settings
  const database = openDatabase(settings)
  const channel = `txlane:${schema}`
  const context: Context = { database, schema: `"${schema}"`, channel, retentionMs }
  const pruner = createPruner(context)
  const watchers = createWatchers({ database, channel, clock: background, random })

  const { idle, ...intake } = intakeVerbs(context)

  return {
    kind: 'postgres',
    durable: true,
    ...leaseVerbs(context),
    ...holderVerbs(context, pruner),
    ...intake,
    ...readVerbs(context),
    ...outboxVerbs(context),
    watch: watchers.watch,
    async close() {
      watchers.stop()
      await idle()
      await pruner.idle()
      await database.close()
    },
  }
}
