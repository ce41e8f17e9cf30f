import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import { memoryStore, type Store } from '../../../src/index.js'
import { sqliteStore } from '../../../src/store/sqlite/index.js'

export type StoreKind = 'memory' | 'sqlite'

/** The content of a store at one moment. In-memory stores cannot be inspected from outside. */
export type KeptNow = {
  readonly fileBytes: number
  readonly transactions: number
  readonly hashes: number
  readonly slots: number
}

export type KeptStore = {
  readonly store: Store
  look(): KeptNow
  /**
   * Makes all ended transactions old except the newest `endedMax`: the store deletes them with its next
   * writes.
   */
  age(): void
  /** Closes the store, and deletes its data. */
  dispose(): Promise<void>
}

/**
 * `endedMax` is the number of ended transactions that stay. The limit is a count and not a time, so that the
 * speed of the machine has no influence.
 */
export function keptStore(kind: StoreKind, endedMax: number): KeptStore {
  if (kind === 'sqlite') return keptFile(endedMax)
  const store = memoryStore({ historyMax: endedMax })
  const nothing = { fileBytes: 0, transactions: 0, hashes: 0, slots: 0 }
  return { store, look: () => nothing, age: () => undefined, dispose: () => store.close() }
}

// Years before any retention.
const OLD = `UPDATE tx SET ended_ms = 0 WHERE key IN
  (SELECT key FROM tx WHERE ended_ms IS NOT NULL ORDER BY ended_ms DESC, key DESC LIMIT -1 OFFSET ?)`

function keptFile(endedMax: number): KeptStore {
  const folder = mkdtempSync(join(tmpdir(), 'txlane-retention-'))
  const path = join(folder, 'lanes.db')
  const store = sqliteStore({ path, synchronous: 'NORMAL' })

  // Opened for each look, because an open connection might keep the log from being merged into the file.
  function look(): KeptNow {
    const database = new Libsql(path)
    const rows = (table: string) =>
      (database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }).count
    const now = {
      fileBytes: ['', '-wal'].reduce((sum, end) => sum + sizeOf(`${path}${end}`), 0),
      transactions: rows('tx'),
      hashes: rows('hash'),
      slots: rows('slot'),
    }
    database.close()
    return now
  }

  function age(): void {
    const database = new Libsql(path)
    database.prepare(OLD).run(endedMax)
    database.close()
  }

  return {
    store,
    look,
    age,
    async dispose() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
