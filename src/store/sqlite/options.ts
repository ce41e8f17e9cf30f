import { resolve } from 'node:path'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'

/** The parameters of `sqliteStore`. */
export type SqliteStoreOptions = {
  /** The path of the file. It is created if missing, readable only by its owner. Its folder must exist. */
  path: string
  /**
   * `FULL`: an acknowledged commit survives a loss of power. `NORMAL`: it survives the end of the process,
   * and is many times faster; a loss of power may lose the last commits. @default 'FULL'
   */
  synchronous?: 'FULL' | 'NORMAL' | undefined
  /**
   * Milliseconds that an ended transaction is kept; until then its id is known. @default 2_592_000_000, which
   * is 30 days
   */
  retentionMs?: number | undefined
  /** Milliseconds that a call waits for other writing processes before it fails. @default 5_000 */
  busyTimeoutMs?: number | undefined
}

const RETENTION_MS = 30 * 24 * 3_600_000
const BUSY_TIMEOUT_MS = 5_000
const NAMES = {
  path: true,
  synchronous: true,
  retentionMs: true,
  busyTimeoutMs: true,
} satisfies Names<SqliteStoreOptions>

export type Settings = {
  readonly [name in keyof SqliteStoreOptions]-?: Exclude<SqliteStoreOptions[name], undefined>
}

/** @throws `INVALID`, naming the option */
export function settingsOf(options: SqliteStoreOptions): Settings {
  checkNames('options', options, NAMES)
  const { path, synchronous = 'FULL' } = options
  const { retentionMs = RETENTION_MS, busyTimeoutMs = BUSY_TIMEOUT_MS } = options
  // The driver takes a URL for a server, and SQLite does not keep a database that is in memory or has no
  // name.
  if (
    typeof path !== 'string' ||
    path === '' ||
    /^(?::memory:|file:|[a-z]+:\/\/)/i.test(path) ||
    path.includes('\0')
  )
    throw invalid('path', path, 'the path of a file')
  if (synchronous !== 'FULL' && synchronous !== 'NORMAL')
    throw invalid('synchronous', synchronous, "'FULL' or 'NORMAL'")
  if (typeof retentionMs !== 'number' || !(retentionMs > 0))
    throw invalid('retentionMs', retentionMs, 'a time in milliseconds above 0')
  if (typeof busyTimeoutMs !== 'number' || !(busyTimeoutMs >= 0))
    throw invalid('busyTimeoutMs', busyTimeoutMs, 'a time in milliseconds')
  return { path: resolve(path), synchronous, retentionMs, busyTimeoutMs }
}
