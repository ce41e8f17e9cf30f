import { TxlaneError } from '../../errors/base.js'

/** The part of `pg` that txlane uses, so that users without `pg` do not need its types. */
export type PgClient = {
  query(statement: PgStatement): Promise<{ rows: Row[] }>
  /** With an error, or `true`, the connection is closed and not used again. */
  release(failed?: Error | boolean): void
  on(event: 'error' | 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  /** Lets the process end in spite of this connection. */
  unref?(): void
  removeListener(event: 'error', listener: () => void): unknown
}

// Mutable, because the driver declares it so.
export type PgStatement = { text: string; values?: unknown[]; name?: string }

/** A `Pool` of `pg`, or a compatible object. */
export type PgPool = {
  /**
   * Called with a callback, because `pg` calls it in the same turn in which it stops listening for errors of
   * the client.
   */
  connect(taken: (error: Error | undefined, client: PgClient | undefined) => void): void
  /** Called only for a pool that the store created. */
  end(): Promise<void>
  /** The options of the pool. `max`: with one connection the store does not listen. */
  readonly options?: { readonly max?: number | undefined }
}

export type Row = Record<string, unknown>

type OwnPool = PgPool & { on(event: 'error', listener: () => void): unknown }
type Driver = { readonly Pool: new (options: object) => OwnPool }

/** Loads `pg` on first use: only users of the PostgreSQL store need the package. */
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
    // Idle connections do not keep the process alive.
    allowExitOnIdle: true,
  })
  // An idle connection that breaks emits an error event, which would end the process without a listener. The
  // next query opens another connection.
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
