import type { Hash } from 'viem'
import { type LaneKey, lanesOf, type Store } from '../../types/store.js'
import { createConnection } from './connection.js'
import { createKeys } from './keys.js'
import { acquire, chains, putReports, release, renew, reportsOf } from './leases.js'
import { type SqliteStoreOptions, settingsOf } from './options.js'
import { outboxVerbs } from './outbox.js'
import { createPruner } from './prune.js'
import { arrivals, changes, find, list, load, unfinished } from './reads.js'
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
  const hashes = { kept: new Set<Hash>(), fresh: new Set<Hash>() }
  const pruner = createPruner(retentionMs)
  const connection = createConnection({ ...settings, undone })
  const watchers = createWatchers(connection, keys)

  function undone(): void {
    keys.forget()
    hashes.fresh.clear()
  }

  function committed(): void {
    if (hashes.kept.size > HASHES_MAX) hashes.kept.clear()
    for (const hash of hashes.fresh) hashes.kept.add(hash)
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
