import { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { openPool, type PgClient, type PgPool, type PgStatement, type Row } from './driver.js'
import { isConflict, isRefused, secretsOf, storeFailure } from './failure.js'
import { migrate } from './migrations.js'
import type { Settings } from './options.js'

/** Runs statements on a connection pool, and classifies their failures. */
export type Database = {
  /** Runs a statement that changes nothing. If it fails, it certainly had no effect. */
  read(statement: PgStatement): Promise<readonly Row[]>
  /** Runs one statement as its own transaction. If the answer is lost, its result is unknown. */
  change(statement: PgStatement): Promise<readonly Row[]>
  /** Takes a connection from the pool. The caller has to release it. */
  connect(): Promise<PgClient>
  /** The maximum number of connections, if known. */
  connectionsMax(): Promise<number | undefined>
  close(): Promise<void>
}

// Conflicting transactions conflict once. If a statement still fails after this many tries, it has another
// cause.
const TRIES_MAX = 6
const PAUSE_MS = 20

export function openDatabase(settings: Settings): Database {
  const { clock, random, timeoutMs } = settings
  const secrets = secretsOf(settings.connectionString)
  let pool: Promise<PgPool> | undefined
  let migrated: Promise<void> | undefined
  let closed = false

  function thePool(): Promise<PgPool> {
    if (settings.pool) return Promise.resolve(settings.pool)
    // One connection more than the option says: for the listener.
    pool ??= openPool(settings.connectionString ?? '', { max: settings.poolMax + 1, timeoutMs })
    return pool
  }

  async function connect(): Promise<PgClient> {
    if (closed) throw closedStore()
    const asked = thePool().then(taken)
    try {
      return await within(clock, timeoutMs, asked)
    } catch (error) {
      // The connection may still arrive, but its caller has gone.
      asked.then((client) => client.release(true)).catch(unheard)
      throw storeFailure({ error, unknown: false, secrets })
    }
  }

  function release(client: PgClient, broken: boolean): void {
    // A discarded connection may emit another error while it closes.
    if (!broken) client.removeListener('error', unheard)
    client.release(broken)
  }

  /** The schema is checked once. After a failure the next caller tries again. */
  function ready(): Promise<void> {
    migrated ??= prepare().catch((error: unknown) => {
      migrated = undefined
      throw error
    })
    return migrated
  }

  async function prepare(): Promise<void> {
    const client = await connect()
    let broken = true
    try {
      await migrate(client, settings.schema)
      broken = false
    } catch (error) {
      broken = !isRefused(error)
      throw storeFailure({ error, unknown: false, secrets })
    } finally {
      release(client, broken)
    }
  }

  async function once(statement: PgStatement, changes: boolean): Promise<readonly Row[] | 'again'> {
    const client = await connect()
    try {
      const { rows } = await within(clock, timeoutMs, client.query(statement))
      release(client, false)
      return rows
    } catch (error) {
      const refused = isRefused(error)
      release(client, !refused)
      if (isConflict(error)) return 'again'
      throw storeFailure({ error, unknown: changes && !refused, secrets })
    }
  }

  async function run(statement: PgStatement, changes: boolean): Promise<readonly Row[]> {
    await ready()
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const rows = await once(statement, changes)
      if (rows !== 'again') return rows
      await new Promise<void>((resolve) => clock.setTimer(resolve, random() * PAUSE_MS * 2 ** tries))
    }
    const error = new Error(`Rolled back ${TRIES_MAX} times because of conflicting transactions.`)
    throw storeFailure({ error, unknown: false, secrets })
  }

  return {
    read: (statement) => run(statement, false),
    change: (statement) => run(statement, true),
    connect,
    async connectionsMax() {
      return (await thePool()).options?.max
    },
    async close() {
      if (closed) return
      closed = true
      if (settings.pool === undefined) await (await pool?.catch(() => undefined))?.end()
    },
  }
}

function unheard(): void {}

function closedStore(): TxlaneError {
  return new TxlaneError('The store is closed.', { code: 'STORE', fate: 'notExecuted' })
}

/**
 * A broken connection fails its query and also emits an error event, which would end the process without a
 * listener. A server that shuts down may say so in the same bytes that report it as ready, so the listener is
 * attached before those bytes are processed.
 */
function taken(pool: PgPool): Promise<PgClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on('error', unheard)
      if (client && !error) resolve(client)
      else reject(error ?? new Error('The pool gave no connection.'))
    })
  })
}

/** Rejects if the answer does not arrive in time. The request may continue, but its result is ignored. */
export function within<T>(clock: Clock, timeoutMs: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`No answer within ${timeoutMs} ms.`))
    const cancel = clock.setTimer(late, timeoutMs)
    answer.then(resolve, reject).finally(cancel)
  })
}
