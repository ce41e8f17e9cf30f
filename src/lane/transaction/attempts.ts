import type { Slot } from '../../ledger/slot.js'
import type { StoredAttempt, StoredTransaction } from '../../types/store.js'
import type { WallClock } from './transaction.js'

/** Maximum number of attempts stored per transaction; the newest ones are retained. */
export const ATTEMPTS_MAX = 16

const NO_ATTEMPTS: readonly StoredAttempt[] = []

/** The fields of a record from which its attempts follow. */
type AttemptFields = Pick<StoredTransaction, 'attempts' | 'fees' | 'signedAtMs'>
type Place = Pick<StoredTransaction, 'nonce' | 'hash'>

/** The signed attempts of a record, oldest first. */
export function attemptsOf(record: AttemptFields & Place): readonly StoredAttempt[] {
  const { attempts, nonce, hash, fees, signedAtMs } = record
  if (attempts !== undefined) return attempts
  if (nonce === undefined || hash === undefined || fees === undefined) return NO_ATTEMPTS
  return [signedAtMs === undefined ? { nonce, hash, fees } : { nonce, hash, fees, signedAtMs }]
}

/** The fields for these attempts in a record with this nonce and hash: the short form for a single attempt. */
export function attemptFields(
  attempts: readonly StoredAttempt[],
  { nonce, hash }: Place,
): { -readonly [field in keyof Required<AttemptFields>]: AttemptFields[field] } {
  const [one] = attempts
  if (one === undefined) return { attempts: undefined, fees: undefined, signedAtMs: undefined }
  const isAll = attempts.length === 1 && one.nonce === nonce && one.hash === hash
  if (!isAll) return { attempts, fees: undefined, signedAtMs: undefined }
  return { attempts: undefined, fees: one.fees, signedAtMs: one.signedAtMs }
}

/**
 * The attempts of the record, followed by the newer attempts that this slot contains. Undefined if the slot
 * contains no newer ones. Without a clock if the slot was read from the store.
 */
export function attemptsWith(
  record: StoredTransaction,
  { nonce, attempts }: Pick<Slot, 'nonce' | 'attempts'>,
  clock: WallClock | undefined,
): readonly StoredAttempt[] | undefined {
  const fresh: StoredAttempt[] = []
  // From the newest on, because slots move often and mostly without a new attempt.
  for (let index = attempts.length - 1; index >= 0; index--) {
    const attempt = attempts[index]
    if (attempt?.claim !== record.id) continue
    if (hasAttempt(record, attempt.hash)) break
    const { hash, fees } = attempt
    fresh.unshift({ nonce, hash, fees, ...(clock && { signedAtMs: clock.wallNow() }) })
  }
  return fresh.length === 0 ? undefined : [...attemptsOf(record), ...fresh].slice(-ATTEMPTS_MAX)
}

function hasAttempt(record: StoredTransaction, hash: string): boolean {
  const { attempts, fees, nonce } = record
  if (attempts !== undefined) return attempts.some((attempt) => attempt.hash === hash)
  return fees !== undefined && nonce !== undefined && record.hash === hash
}
