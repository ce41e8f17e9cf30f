import type Libsql from 'libsql'
import { isTxlaneError } from '../../errors/base.js'
import { type Clock, systemClock } from '../../platform/clock.js'
import { fromSqlite, isBusy, storeError } from './errors.js'
import {
  type Begin,
  loadDriver,
  type OpenDatabase,
  type OpenOptions,
  openDatabase,
  type Part,
  replacedError,
  transact,
} from './open.js'
import { SQL } from './statements.js'

type Statement = Libsql.Statement<unknown[]>

/**
 * The file, with every statement prepared once. All calls are synchronous: code that runs in one turn is not
 * interrupted.
 */
export type Prepared = { readonly [name in keyof typeof SQL]: Statement }

export type Connection = {
  /**
   * Runs one write transaction. It is committed completely if the promise resolves, and rolled back if it
   * rejects.
   */
  write<T>(work: (prepared: Prepared) => T): Promise<T>
  /** Runs one read transaction: all reads see the same state. */
  read<T>(work: (prepared: Prepared) => T): Promise<T>
  close(): Promise<void>
}

export type ConnectionOptions = OpenOptions & {
  readonly busyTimeoutMs: number
  /** Called when a write was rolled back: facts learned in it are void. */
  readonly undone: () => void
  readonly clock?: Clock
}

type Open = OpenDatabase & { readonly prepared: Prepared }

const PAUSES_MS = [1, 2, 3, 5, 8, 13, 20] as const

export function createConnection(options: ConnectionOptions): Connection {
  const { path, busyTimeoutMs, undone, clock = systemClock } = options
  let opening: Promise<Open> | undefined
  let closed = false
  // Writes run in the order in which they were requested, even if one of them has to wait.
  let last: Promise<unknown> = Promise.resolve()

  function opened(): Promise<Open> {
    opening ??= openOnce().catch((error: unknown) => {
      // The obstacle may be gone the next time.
      opening = undefined
      throw error
    })
    return opening
  }

  async function openOnce(): Promise<Open> {
    const Driver = await loadDriver()
    const open = await patiently(() => openDatabase(Driver, options))
    const names = Object.keys(SQL) as (keyof typeof SQL)[]
    const entries = names.map((name) => [name, open.database.prepare(SQL[name])])
    return { ...open, prepared: Object.fromEntries(entries) as Prepared }
  }

  /** Waits without blocking the thread, which SQLite's own timeout would block. */
  async function patiently<T>(attempt: () => T): Promise<T> {
    const endMs = clock.now() + busyTimeoutMs
    for (let tries = 0; ; tries++) {
      try {
        return attempt()
      } catch (error) {
        if (!isBusy(error) || clock.now() >= endMs) throw typed(error)
      }
      const pauseMs = PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)] ?? 20
      await new Promise<void>((resolve) => void clock.setTimer(resolve, pauseMs))
    }
  }

  const typed = (error: unknown) => (isTxlaneError(error) ? error : fromSqlite(path, error))

  async function run<T>(begin: Begin, work: (prepared: Prepared) => T): Promise<T> {
    if (closed) throw storeError({ path, reason: 'it is closed' })
    const open = await opened()
    return patiently(() => transact(open.database, begin, () => workInPlace(open, work), failed))
  }

  /** Checked last before the commit: data written to a deleted file would be in no store. */
  function workInPlace<T>({ prepared, isInPlace }: Open, work: (prepared: Prepared) => T): T {
    const result = work(prepared)
    if (!isInPlace()) throw replacedError(path)
    return result
  }

  function failed(error: unknown, part: Part): unknown {
    undone()
    // The log may contain the transaction, and recovery after a crash would apply it.
    return part === 'commit' ? fromSqlite(path, error, { unknown: true }) : error
  }

  return {
    write(work) {
      const result = last.then(() => run('BEGIN IMMEDIATE', work))
      last = result.catch(() => {})
      return result
    },
    read: (work) => run('BEGIN', work),
    async close() {
      if (closed) return
      await last
      closed = true
      const open = await opening?.catch(() => undefined)
      opening = undefined
      if (open === undefined) return
      try {
        // Its statements keep a connection alive until they are garbage collected, so the log is written into
        // the file now.
        open.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch {
        // Another process is using the file, and will do it.
      }
      try {
        open.database.close()
      } catch (error) {
        throw storeError({ path, reason: 'it cannot be closed', cause: error })
      }
    },
  }
}
