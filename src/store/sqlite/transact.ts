import type Libsql from 'libsql'

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
