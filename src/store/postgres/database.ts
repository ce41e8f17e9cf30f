import { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { openPool, type PgClient, type PgPool, type PgStatement, type Row } from './driver.js'
import { isConflict, isRefused, secretsOf, storeFailure } from './failure.js'
import { migrate } from './migrate.js'
import type { Settings } from './options.js'

/** A pool, and what becomes of a statement on it. */
export type Database = {
  /** A statement that changes nothing: it fails for certain, or not at all. */
  read(statement: PgStatement): Promise<readonly Row[]>
  /** One statement, which is its own transaction: an answer that is lost leaves its result unknown. */
  change(statement: PgStatement): Promise<readonly Row[]>
  /** A connection to keep. Its holder releases it. */
  connect(): Promise<PgClient>
  /** Connections at most, where that is known. */
  connectionsMax(): Promise<number | undefined>
  close(): Promise<void>
}

// Two that stand in each other's way do so once: what still fails after so many tries is something else.
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
    // One connection more than asked for: the one that listens.
    pool ??= openPool(settings.connectionString ?? '', { max: settings.poolMax + 1, timeoutMs })
    return pool
  }

  async function connect(): Promise<PgClient> {
    if (closed) throw closedStore()
    const asked = thePool().then(taken)
    try {
      return await within(clock, timeoutMs, asked)
    } catch (error) {
      // It may still come, to nobody.
      asked.then((client) => client.release(true)).catch(unheard)
      throw storeFailure({ error, unknown: false, secrets })
    }
  }

  function release(client: PgClient, broken: boolean): void {
    // One that is thrown away may break once more on its way out.
    if (!broken) client.removeListener('error', unheard)
    client.release(broken)
  }

  /** The tables are looked at once; what fails is tried again by who comes next. */
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
    const error = new Error(`Taken back ${TRIES_MAX} times for the sake of other transactions.`)
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
 * A connection that breaks fails its query, and is an event as well, which unheard would end the process. A server that
 * goes away may say so in the very bytes that say it is ready: the event is listened for before they are read on.
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

/** Rejects when the answer has not come in time. What was asked may go on: nobody waits for it any more. */
export function within<T>(clock: Clock, timeoutMs: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`No answer within ${timeoutMs} ms.`))
    const cancel = clock.setTimer(late, timeoutMs)
    answer.then(resolve, reject).finally(cancel)
  })
}
