import type Libsql from 'libsql'

export type Begin = 'BEGIN' | 'BEGIN IMMEDIATE'
/** What failed: the work, or the COMMIT after it. */
export type Part = 'work' | 'commit'

/**
 * One transaction: what `work` does is there as a whole, or not at all. Throws what SQLite or `work` threw, or what
 * `failed` makes of it where it had begun; a COMMIT that fails may have happened all the same.
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
    // SQLite rolled it back by itself: after a full disk, say.
  }
}
