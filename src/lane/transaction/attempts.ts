import type { Slot } from '../../ledger/slot.js'
import type { StoredAttempt } from '../../types/store.js'
import type { Transaction, WallClock } from './transaction.js'

/** Maximum number of attempts stored per transaction; the newest ones are kept. */
export const ATTEMPTS_MAX = 16

/**
 * Adds the attempts that were signed for the transaction at this nonce since the last call, oldest first.
 * Without a clock if the slot was read from the store.
 */
export function noteAttempts(
  transaction: Pick<Transaction, 'id' | 'attempts'>,
  { nonce, attempts }: Pick<Slot, 'nonce' | 'attempts'>,
  clock: WallClock | undefined,
): void {
  const known = transaction.attempts
  const fresh: StoredAttempt[] = []
  // From the newest on, because slots move often and mostly without a new attempt.
  for (let index = attempts.length - 1; index >= 0; index--) {
    const attempt = attempts[index]
    if (attempt?.claim !== transaction.id) continue
    if (known.some(({ hash }) => hash === attempt.hash)) break
    const { hash, fees } = attempt
    fresh.unshift({ nonce, hash, fees, ...(clock && { signedAtMs: clock.wallNow() }) })
  }
  if (fresh.length > 0) transaction.attempts = [...known, ...fresh].slice(-ATTEMPTS_MAX)
}
