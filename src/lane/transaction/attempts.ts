import type { Slot } from '../../ledger/slot.js'
import type { StoredAttempt } from '../../types/store.js'
import type { Transaction, WallClock } from './transaction.js'

/** So many are kept of one transaction: the newest. */
export const ATTEMPTS_MAX = 16

/**
 * Notes what was signed of it at this nonce since it was noted last, the oldest first. Without a clock where the slot was
 * read from the store.
 */
export function noteAttempts(
  transaction: Pick<Transaction, 'id' | 'attempts'>,
  { nonce, attempts }: Pick<Slot, 'nonce' | 'attempts'>,
  clock: WallClock | undefined,
): void {
  const known = transaction.attempts
  const fresh: StoredAttempt[] = []
  // From the newest on: slots move often, and mostly nothing was signed since.
  for (let index = attempts.length - 1; index >= 0; index--) {
    const attempt = attempts[index]
    if (attempt?.claim !== transaction.id) continue
    if (known.some(({ hash }) => hash === attempt.hash)) break
    const { hash, fees } = attempt
    fresh.unshift({ nonce, hash, fees, ...(clock && { signedAtMs: clock.wallNow() }) })
  }
  if (fresh.length > 0) transaction.attempts = [...known, ...fresh].slice(-ATTEMPTS_MAX)
}
