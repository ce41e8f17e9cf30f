import type { Store } from '../../types/store.js'
import type { Context } from './context.js'
import { openDatabase } from './database.js'
import { intakeVerbs } from './intake.js'
import { leaseVerbs } from './leases.js'
import { type PostgresStoreOptions, settingsOf } from './options.js'
import { outboxVerbs } from './outbox.js'
import { createPruner } from './prune.js'
import { readVerbs } from './readers.js'
import { statementsOf } from './sql/index.js'
import { createWatchers } from './watchers.js'
import { holderVerbs } from './writes.js'

export type { PgPool } from './driver.js'
export type { PostgresStoreOptions } from './options.js'

/**
 * Keeps lanes in PostgreSQL, for any number of processes on any number of machines. P2 to P5 hold as long as no
 * acknowledged commit is lost: `synchronous_commit` on, and a synchronous standby where a server may be lost.
 *
 * Needs the package `pg`. Connects on first use and makes its tables by itself, in a schema of its own. `watch` needs
 * a connection that stays: behind a pooler that gives out one per transaction nothing is heard.
 *
 * @throws `INVALID` for an option that cannot be
 * @example
 * const store = postgresStore({ connectionString: 'postgres://txlane@localhost/relayer' })
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const settings = settingsOf(options)
  const { schema, retentionMs, background, random } = settings
  const database = openDatabase(settings)
  const channel = `txlane:${schema}`
  const context: Context = { database, sql: statementsOf(schema), channel, retentionMs }
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
