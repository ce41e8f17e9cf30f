import { TxlaneError } from '../../errors/base.js'
import { REPLACED } from '../replaced.js'

// SQLite's primary result codes. Extended codes contain them in their lowest byte, and not all have a name in
// the driver.
const BUSY = 5
const REASONS: ReadonlyMap<number, string> = new Map([
  [BUSY, 'other processes keep it locked'],
  [8, 'it, or its folder, may not be written to'],
  [10, 'the disk does not read or write it'],
  [11, 'it is damaged'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened, or a file beside it cannot be made'],
  [26, 'it is no SQLite database'],
])

function resultOf(error: unknown): number | undefined {
  const { rawCode } = (error ?? {}) as { rawCode?: unknown }
  return typeof rawCode === 'number' ? rawCode & 0xff : undefined
}

/** True if another process writes, or has just begun or ended its use of the file. */
export function isBusy(error: unknown): boolean {
  return resultOf(error) === BUSY
}

export type StoreFailure = {
  readonly path: string
  readonly reason: string
  /** True if it is unknown whether a commit succeeded. */
  readonly unknown?: boolean
  /** True if the open file is not the one at the path. */
  readonly replaced?: boolean
  readonly cause?: unknown
}

/**
 * The error of a store that does not work. Its fate is `inFlight`, because the unreadable file may contain
 * transactions that an earlier run sent.
 */
export function storeError({ path, reason, unknown, replaced, cause }: StoreFailure): TxlaneError {
  return new TxlaneError(`The store ${path} does not work: ${reason}.`, {
    code: 'STORE',
    fate: 'inFlight',
    cause,
    details: unknown ? 'unknown' : replaced ? REPLACED : undefined,
  })
}

/** The error that SQLite, or the system below it, reported. Neither quotes stored data. */
export function fromSqlite(path: string, cause: unknown, over: Partial<StoreFailure> = {}): TxlaneError {
  const result = resultOf(cause)
  const reason = REASONS.get(result ?? -1) ?? `SQLite failed${result === undefined ? '' : ` (${result})`}`
  return storeError({ path, reason, cause, ...over })
}
