import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { backgroundClock, type Clock, type Random, systemClock, systemRandom } from '../../platform/clock.js'
import type { PgPool } from './driver.js'

/** What `postgresStore` takes. */
export type PostgresStoreOptions = (
  | {
      /** `postgres://user:password@host:port/database`. It reaches no error, log or file. */
      connectionString: string
      /** Not beside a connection string. */
      pool?: undefined
    }
  | {
      /**
       * A `Pool` of `pg` that stays yours: `close` leaves it open. While something is watched one of its connections
       * listens; where it has one only, the store is asked each second instead.
       */
      pool: PgPool
      /** Not beside a pool. */
      connectionString?: undefined
    }
) & {
  /** Where the tables are. It is made if need be, and holds nothing else. @default 'txlane' */
  schema?: string | undefined
  /** Milliseconds until a transaction that has ended is forgotten, and with it its id. @default 30 days */
  retentionMs?: number | undefined
  /** Connections at most, without the one that listens. Not for a pool that is handed in. @default 8 */
  poolMax?: number | undefined
  /** Milliseconds until an answer that does not come is a lost one. @default 30_000 */
  timeoutMs?: number | undefined
  /** For tests. @default the machine's own */
  clock?: Clock | undefined
  /** For tests. @default the machine's own */
  random?: Random | undefined
}

export type Settings = {
  readonly connectionString: string | undefined
  readonly pool: PgPool | undefined
  readonly schema: string
  readonly retentionMs: number
  readonly poolMax: number
  readonly timeoutMs: number
  readonly clock: Clock
  /** For timers that must not keep the process alive. */
  readonly background: Clock
  readonly random: Random
}

const DAY_MS = 86_400_000
const NAMES = {
  connectionString: true,
  pool: true,
  schema: true,
  retentionMs: true,
  poolMax: true,
  timeoutMs: true,
  clock: true,
  random: true,
} satisfies Names<PostgresStoreOptions>
// Names are cut at 63 bytes, and the channel's has the schema's in it. `pg_` is PostgreSQL's own.
const SCHEMA = /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/

/** @throws `INVALID`, naming the option */
export function settingsOf(options: PostgresStoreOptions): Settings {
  checkNames('options', options, NAMES)
  const { connectionString, pool, schema = 'txlane' } = options
  if (pool === undefined) checkConnectionString(connectionString)
  else if (typeof pool.connect !== 'function') throw invalid('pool', pool, 'a Pool of pg')
  if (typeof schema !== 'string' || !SCHEMA.test(schema)) {
    throw invalid('schema', schema, 'lower-case letters, digits and _, 48 at most, not beginning with pg_')
  }
  return {
    connectionString,
    pool,
    schema,
    retentionMs: whole('retentionMs', options.retentionMs, 0, 30 * DAY_MS),
    poolMax: whole('poolMax', options.poolMax, 1, 8),
    timeoutMs: whole('timeoutMs', options.timeoutMs, 1, 30_000),
    clock: options.clock ?? systemClock,
    background: options.clock ?? backgroundClock,
    random: options.random ?? systemRandom,
  }
}

function checkConnectionString(value: unknown): void {
  // What was given is not shown, and not handed to a parser whose error shows it: it may hold a password anywhere.
  const looksRight = typeof value === 'string' && /^postgres(?:ql)?:\/\//.test(value) && URL.canParse(value)
  if (!looksRight)
    throw invalid('connectionString', undefined, 'a connection string of PostgreSQL (postgres://…)')
}

function whole(name: string, value: number | undefined, min: number, otherwise: number): number {
  if (value === undefined) return otherwise
  if (!Number.isSafeInteger(value) || value < min) {
    throw invalid(name, value, `a whole number of at least ${min}`)
  }
  return value
}
