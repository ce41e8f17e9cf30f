import { TxlaneError } from '../../errors/base.js'

/** What is used of `pg`, so that its types are needed by nobody who does not use it. */
export type PgClient = {
  query(statement: PgStatement): Promise<{ rows: Row[] }>
  /** With an error, or `true`, the connection is closed and not used again. */
  release(failed?: Error | boolean): void
  on(event: 'error' | 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  /** It keeps no process alive any more. */
  unref?(): void
  removeListener(event: 'error', listener: () => void): unknown
}

// Mutable, as the driver declares it.
export type PgStatement = { text: string; values?: unknown[]; name?: string }

/** A `Pool` of `pg`, or what looks like one. */
export type PgPool = {
  /** Asked with a callback, which `pg` calls in the same turn in which it stops listening for errors of the client. */
  connect(taken: (error: Error | undefined, client: PgClient | undefined) => void): void
  /** Called for a pool that the store made itself. */
  end(): Promise<void>
  /** What the pool was made with. `max`: with one connection the store does not listen. */
  readonly options?: { readonly max?: number | undefined }
}

export type Row = Record<string, unknown>

type OwnPool = PgPool & { on(event: 'error', listener: () => void): unknown }
type Driver = { readonly Pool: new (options: object) => OwnPool }

/** Loads `pg` on the first use: the package is needed by those alone who keep lanes in PostgreSQL. */
export async function openPool(
  connectionString: string,
  { max, timeoutMs }: { readonly max: number; readonly timeoutMs: number },
  load: () => Promise<unknown> = () => import('pg'),
): Promise<PgPool> {
  const { Pool } = await driver(load)
  const pool = new Pool({
    connectionString,
    max,
    connectionTimeoutMillis: timeoutMs,
    application_name: 'txlane',
    keepAlive: true,
    // What is idle keeps no process alive.
    allowExitOnIdle: true,
  })
  // An idle connection that breaks is an event that nobody asked about, and would end the process: the next query
  // opens another one.
  pool.on('error', () => {})
  return pool
}

async function driver(load: () => Promise<unknown>): Promise<Driver> {
  try {
    const loaded = (await load()) as Driver & { readonly default?: Driver }
    return loaded.default ?? loaded
  } catch (cause) {
    throw new TxlaneError('postgresStore needs the package pg, which cannot be loaded.', {
      code: 'UNSUPPORTED',
      fate: 'notExecuted',
      cause,
      metaMessages: ['Install it: npm install pg'],
    })
  }
}
