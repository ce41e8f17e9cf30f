import { loadDriver } from '../../../../src/store/sqlite/open.js'
import { Refusal } from '../../shared/program.js'

/** Ends the lock. The system ends it with the process, however that ends. */
export type RunLock = { release(): void }

/** The driver names only a number. */
function openLock(Driver: Awaited<ReturnType<typeof loadDriver>>, path: string) {
  try {
    return new Driver(path)
  } catch {
    throw new Refusal(`${path} cannot be written: does its folder allow it? Nothing was sent.`)
  }
}

/**
 * Locks a payout while it runs. Runs that send every row alone may share it, because the id of a row stands for
 * one transaction. A run with packs is alone: two of them could put a row into different packs.
 * @throws Refusal if another process has it
 */
export async function lockRun(path: string, how: 'shared' | 'alone'): Promise<RunLock> {
  const Driver = await loadDriver()
  const database = openLock(Driver, path)
  try {
    database.exec(how === 'alone' ? 'BEGIN EXCLUSIVE' : 'BEGIN')
    // The lock is taken by the first read.
    if (how === 'shared') database.prepare('SELECT count(*) FROM sqlite_schema').get()
  } catch (error) {
    database.close()
    if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) throw error
    throw new Refusal('Another process pays this file now: wait for its end, or stop it.')
  }
  return { release: () => void database.close() }
}
