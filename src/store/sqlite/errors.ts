import { TxlaneError } from '../../errors/base.js'

/** By the beginning of SQLite's own name for the result. */
const REASONS: readonly (readonly [string, string])[] = [
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_READONLY', 'it, or its folder, may not be written to'],
  ['SQLITE_CANTOPEN', 'it cannot be opened, or a file beside it cannot be made'],
  ['SQLITE_NOTADB', 'it is no SQLite database'],
  ['SQLITE_CORRUPT', 'it is damaged'],
  ['SQLITE_BUSY', 'other processes keep it locked'],
  ['SQLITE_IOERR', 'the disk does not read or write it'],
]

export function sqliteCode(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Another process writes; or has just begun, or ended, its use of the file. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error).startsWith('SQLITE_BUSY')
}

export type StoreFailure = {
  readonly path: string
  readonly reason: string
  readonly unknown?: boolean
  readonly cause?: unknown
}

/** What an earlier life sent may be in a file that cannot be read: nothing is known not to have executed. */
export function storeError({ path, reason, unknown, cause }: StoreFailure): TxlaneError {
  return new TxlaneError(`The store ${path} does not work: ${reason}.`, {
    code: 'STORE',
    fate: 'inFlight',
    cause,
    details: unknown ? 'unknown' : undefined,
  })
}

/** What SQLite, or the system below it, said. Neither quotes what is kept. */
export function fromSqlite(path: string, cause: unknown, over: Partial<StoreFailure> = {}): TxlaneError {
  const code = sqliteCode(cause)
  const known = REASONS.find(([beginning]) => code.startsWith(beginning))?.[1]
  return storeError({ path, reason: known ?? (code || 'SQLite failed'), cause, ...over })
}
