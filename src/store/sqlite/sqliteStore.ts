import { resolve } from 'node:path'
import type { Hash } from 'viem'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { type LaneKey, lanesOf, type Store } from '../../types/store.js'
import { createConnection, type Prepared } from './connection.js'
import { createKeys } from './keys.js'
import { acquire, chains, putReports, release, renew, reportsOf } from './leases.js'
import { outboxVerbs } from './outbox.js'
import { arrivals, changes, counters, find, list, load, unfinished } from './reads.js'
import { createWatchers } from './watchers.js'
import { enqueue, postCommand, restart, write } from './writes.js'

// Several times the number of in-flight hashes. A hash that was dropped is written once more, and found to
// exist.
const HASHES_MAX = 16_384

/**
 * Keeps lanes in one SQLite file, for any number of processes on one machine, and across restarts. Needs the
 * package `libsql`. Network file systems do not provide the locks that SQLite needs: keep the file on a local
 * disk.
 *
 * Does not survive the loss of its disk. With `synchronous: 'NORMAL'` a loss of power may lose the last
 * commits, and P2 to P5 with them.
 *
 * @example
 * const store = sqliteStore({ path: './lanes.db' })
 * const sender = createSender({ client, store })
 *
 * @throws `INVALID` for an invalid option. Its methods reject with `STORE` if the file does not work, and
 *   with `UNSUPPORTED` if the driver is not installed.
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { retentionMs, ...settings } = settingsOf(options)
  const keys = createKeys()
  const hashes = { stored: new Set<Hash>(), fresh: new Set<Hash>() }
  const pruner = createPruner(retentionMs)
  const connection = createConnection({ ...settings, undone })
  const watchers = createWatchers(connection, keys)

  function undone(): void {
    keys.forget()
    hashes.fresh.clear()
  }

  function committed(): void {
    if (hashes.stored.size > HASHES_MAX) hashes.stored.clear()
    for (const hash of hashes.fresh) hashes.stored.add(hash)
    hashes.fresh.clear()
  }

  return {
    kind: 'sqlite',
    durable: true,
    chains: (chain) => connection.write((sql) => chains(sql, chain)),
    acquire: (lane, holder, ttlMs) => connection.write((sql) => acquire(sql, keys, lane, holder, ttlMs)),
    renew: (holder, ttlMs) => connection.write((sql) => renew(sql, holder, ttlMs)),
    async release(lease) {
      await connection.write((sql) => release(sql, keys, lease))
      watchers.notify([lease.lane])
    },
    async report(reports) {
      await connection.write((sql) => putReports(sql, keys, reports))
    },
    reports: (lanes) => connection.read((sql) => reportsOf(sql, keys, lanes)),
    unfinished: (chain) => connection.read((sql) => unfinished(sql, keys, chain)),
    counters: (chain) => connection.read((sql) => counters(sql, keys, chain)),
    load: (lease) => connection.read((sql) => load(sql, keys, lease)),
    async write(lease, change) {
      await connection.write((sql) => {
        write(sql, keys, hashes, { lease, change })
        pruner.after(sql, change.transactions.length)
      })
      committed()
      const handed = change.transactions.filter(({ lane }) => lane.address !== lease.lane.address)
      watchers.notify([lease.lane, ...lanesOf(handed)])
    },
    async enqueue(transactions) {
      if (transactions.length === 0) return []
      const answers = await connection.write((sql) => enqueue(sql, keys, transactions))
      watchers.notify([...new Set<LaneKey>(transactions.map(({ lane }) => lane))])
      return answers
    },
    async restart(transaction, ended) {
      const answer = await connection.write((sql) => restart(sql, keys, transaction, ended))
      watchers.notify(lanesOf([transaction, ended]))
      return answer
    },
    async postCommand(chain, id, command) {
      const found = await connection.write((sql) => postCommand(sql, keys, chain, { id, command }))
      if (found !== undefined) watchers.notify([found.lane])
      return found !== undefined
    },
    arrivals: (lane, after, limit) =>
      connection.read((sql) => arrivals(sql, keys.findLane(sql, lane)?.lane, { after, limit })),
    changes: (lane, revision, limit) =>
      connection.read((sql) => changes(sql, keys.findLane(sql, lane)?.lane, { revision, limit })),
    ...outboxVerbs(connection, keys),
    watch: watchers.watch,
    find: (chain, by) => connection.read((sql) => find(sql, keys, chain, by)),
    list: (lanes, page) => connection.read((sql) => list(sql, keys, lanes, page)),
    async close() {
      watchers.close()
      await connection.close()
    },
  }
}

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

type Settings = {
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

type Pruner = {
  /**
   * Called within a write that stored `kept` transactions. Deletes some that ended long ago, with their
   * hashes.
   */
  after(prepared: Prepared, kept: number): void
}

// Rare enough to cost nothing, and frequent enough that no write deletes many.
const EVERY = 64

/**
 * Deletes twice as many transactions as were stored since the last time, so that the file cannot grow faster
 * than old transactions are deleted. The first write of a process starts with a deletion, so that short-lived
 * processes contribute too.
 */
function createPruner(retentionMs: number): Pruner {
  let kept: number = EVERY
  return {
    after(prepared, count) {
      kept += count
      if (kept < EVERY || retentionMs === Number.POSITIVE_INFINITY) return
      const old = prepared.oldest.all(retentionMs, 2 * kept) as { key: number }[]
      kept = 0
      for (const { key } of old) {
        prepared.dropHashes.run(key)
        prepared.dropTx.run(key)
      }
    },
  }
}
