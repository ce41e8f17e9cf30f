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

/** The fields of a record with this nonce, this hash and these attempts. A single attempt has the short form. */
export function boundFields(
  { nonce, hash }: Place,
  attempts: readonly StoredAttempt[],
): AttemptFields & Place {
  const [first] = attempts
  const isSingle = attempts.length === 1 && first?.nonce === nonce && first?.hash === hash
  const single = isSingle ? first : undefined
  return {
    nonce,
    hash,
    attempts: isSingle || first === undefined ? undefined : attempts,
    fees: single?.fees,
    signedAtMs: single?.signedAtMs,
  }
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
  const known = attemptsOf(record)
  const fresh: StoredAttempt[] = []
  // The loop starts at the newest attempt, because slots move often and mostly without a new one.
  for (let index = attempts.length - 1; index >= 0; index--) {
    const attempt = attempts[index]
    if (attempt?.claim !== record.id) continue
    if (known.some(({ hash }) => hash === attempt.hash)) break
    const { hash, fees } = attempt
    fresh.unshift({ nonce, hash, fees, ...(clock && { signedAtMs: clock.wallNow() }) })
  }
  return fresh.length === 0 ? undefined : [...known, ...fresh].slice(-ATTEMPTS_MAX)
}
