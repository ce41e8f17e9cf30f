import { closeSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type Libsql from 'libsql'
import { TxlaneError } from '../../errors/base.js'
import { storeError } from './errors.js'
import { APPLICATION_ID, MIGRATIONS } from './schema.js'

type Database = Libsql.Database
type Driver = new (path: string) => Database

export type OpenOptions = {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL'
}

// A WAL that grew in a burst is truncated to this size.
const WAL_BYTES_MAX = 64 * 2 ** 20

/** Loads the driver on first use of a store, so that importing this module needs no driver. */
export async function loadDriver(load: () => Promise<unknown> = () => import('libsql')): Promise<Driver> {
  try {
    const loaded = (await load()) as { default?: unknown }
    return (loaded.default ?? loaded) as Driver
  } catch (cause) {
    throw new TxlaneError(
      'sqliteStore needs the package libsql, which cannot be loaded: npm install libsql',
      {
        code: 'UNSUPPORTED',
        fate: 'notExecuted',
        cause,
      },
    )
  }
}

/** A connection, and a function that checks whether its file is still the one at the path. */
export type OpenDatabase = { readonly database: Database; readonly isInPlace: FileInPlace }

/**
 * An overlay file system gives a file of a lower layer another number when it is first opened for writing.
 */
const OPENINGS_MAX = 3

/** Opens a file that txlane created, or creates it. Throws SQLite's error if the file is busy. */
export function openDatabase(Driver: Driver, options: OpenOptions): OpenDatabase {
  const { path } = options
  for (let openings = 1; ; openings++) {
    makeFile(path)
    const before = identityOf(path)
    const database = prepareDatabase(Driver, options)
    const isInPlace = fileInPlace(path)
    // Otherwise it is unknown which of two files is open.
    if (isSame(before, identityOf(path)) && isInPlace()) return { database, isInPlace }
    database.close()
    if (openings === OPENINGS_MAX) throw replacedError(path)
  }
}

function prepareDatabase(Driver: Driver, { path, synchronous }: OpenOptions): Database {
  const database = connect(Driver, path)
  try {
    // Read in one transaction: a file that another process is just creating would look like another program's
    // if read in parts.
    const version = transact(database, 'BEGIN', () => versionOf(database, path))
    database.exec(`PRAGMA journal_mode = WAL`)
    database.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`)
    // On macOS an fsync alone does not reach the disk. On other systems these two change nothing.
    database.exec(`PRAGMA fullfsync = ${synchronous === 'FULL'}; PRAGMA checkpoint_fullfsync = 1`)
    database.exec(`PRAGMA synchronous = ${synchronous}`)
    if (version < MIGRATIONS.length) migrate(database, path)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * SQLite creates the files beside it with the permissions of this one. An existing file is not opened here,
 * because closing it again would release the locks that this process has on it through other connections.
 */
function makeFile(path: string): void {
  if (isOrphaned(path)) {
    const reason = `the file is missing, but its log ${path}-wal exists: it was deleted without the log. If no process has the file open any more, delete the log as well to start with an empty store`
    throw storeError({ path, reason })
  }
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw unmade(path, code, cause)
    if (!statSync(path).isFile()) throw storeError({ path, reason: 'it is not a file' })
  }
}

/**
 * SQLite would delete the log, with its commits, and start anew, although the process that wrote it may be
 * running.
 */
function isOrphaned(path: string): boolean {
  if (identityOf(path) !== undefined) return false
  return (identityOf(`${path}-wal`)?.size ?? 0n) > 0n
}

export function replacedError(path: string): TxlaneError {
  const reason =
    'its file was deleted, moved or replaced while it was open. Nothing is written until it is back at its path, or this process is restarted'
  return storeError({ path, reason, replaced: true })
}

function unmade(path: string, code: string | undefined, cause: unknown): TxlaneError {
  const folder = dirname(path)
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? `there is no folder ${folder}`
      : `its folder does not allow creating it (${code})`
  return storeError({ path, reason, cause })
}

function connect(Driver: Driver, path: string): Database {
  try {
    return new Driver(path)
  } catch (cause) {
    // The driver reports only a number in a text here.
    throw storeError({ path, reason: 'it cannot be opened', cause })
  }
}

/** Reads before anything is written, so that a file of another program stays unchanged. */
function versionOf(database: Database, path: string): number {
  const application = read(database, 'PRAGMA application_id')
  const version = read(database, 'PRAGMA user_version')
  const objects = read(database, 'SELECT count(*) FROM sqlite_schema')
  const fresh = application === 0 && version === 0 && objects === 0
  if (!fresh && application !== APPLICATION_ID) {
    throw storeError({ path, reason: 'the file belongs to another program' })
  }
  if (version > MIGRATIONS.length) {
    const reason = `a later version of txlane made it (schema ${version}; this one knows ${MIGRATIONS.length})`
    throw storeError({ path, reason })
  }
  return version
}

/**
 * Under one lock, and based on the version read there, because another process may have migrated the file
 * already.
 */
function migrate(database: Database, path: string): void {
  transact(database, 'BEGIN IMMEDIATE', () => {
    const version = versionOf(database, path)
    for (const step of MIGRATIONS.slice(version)) database.exec(step)
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`)
  })
}

function read(database: Database, sql: string): number {
  const [value] = database.prepare(sql).raw().get() as [number]
  return value
}

export type Begin = 'BEGIN' | 'BEGIN IMMEDIATE'
/** The part that failed: the work, or the COMMIT after it. */
export type Part = 'work' | 'commit'

/**
 * Runs `work` in one transaction, which is committed as a whole or not at all. Throws the error of SQLite or
 * `work`, or the result of `failed` if the transaction had begun. A COMMIT that fails may have succeeded
 * nevertheless.
 */
export function transact<T>(
  database: Libsql.Database,
  begin: Begin,
  work: () => T,
  failed: (error: unknown, part: Part) => unknown = (error) => error,
): T {
  database.exec(begin)
  let part: Part = 'work'
  try {
    const result = work()
    part = 'commit'
    database.exec('COMMIT')
    return result
  } catch (error) {
    const thrown = failed(error, part)
    rollBack(database)
    throw thrown
  }
}

function rollBack(database: Libsql.Database): void {
  try {
    if (database.inTransaction) database.exec('ROLLBACK')
  } catch {
    // SQLite has rolled back by itself, for example after a full disk.
  }
}

/** Returns true if the files of an open database are still those at its path. */
type FileInPlace = () => boolean

type Identity = { readonly dev: bigint; readonly ino: bigint; readonly size: bigint }

/**
 * Remembers the files of an open database, to detect that they were deleted, moved or replaced. An open file
 * keeps its inode, so that no other file gets the same number meanwhile. SQLite continues to write to a file
 * that has no name any more, while the next process that opens the path creates a new one and leads on it
 * (https://www.sqlite.org/howtocorrupt.html, 2.4). The same applies to the write-ahead log and its index,
 * whose locks belong to the database; they are beside the file that a link at the path leads to.
 *
 * Windows refuses to delete or rename the files while SQLite has them open. A file system without file
 * numbers (FAT there, some network ones) reports 0: then only a missing file is detected.
 */
function fileInPlace(path: string): FileInPlace {
  const beside = realOf(path)
  const files = [path, `${beside}-wal`, `${beside}-shm`]
  const opened = files.map(identityOf)
  return () => files.every((file, index) => isSame(opened[index], identityOf(file)))
}

/**
 * The identity of the file at a path, as far as the system distinguishes files; undefined if there is none.
 */
function identityOf(path: string): Identity | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    // The folder cannot be read, or no longer exists.
    return undefined
  }
}

export function isSame(opened: Identity | undefined, now: Identity | undefined): boolean {
  // SQLite has not created the log yet, so there is nothing to compare.
  if (opened === undefined) return true
  if (now === undefined) return false
  return opened.ino === 0n || (opened.ino === now.ino && opened.dev === now.dev)
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
