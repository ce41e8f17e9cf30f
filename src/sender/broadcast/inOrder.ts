import type { Book } from '../../ledger/book.js'
import { type Attempt, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { ProfileWatch } from '../../rpc/profile.js'

/** What is sent to an endpoint that refuses nonces above a gap: one after the other, each once the one below was taken. */
export type InOrder = {
  readonly isOn: boolean
  /** The most transactions in a request, where the order of a batch is not kept. */
  readonly sizeMax: number
  /** Nonces above it have to wait: the endpoint has not taken it, as far as its words went. */
  next(): number
  /** What it said of a batch. Returns what it lacks although it took it before: to be sent next. */
  said(
    batch: readonly { readonly nonce: number; readonly attempt: Attempt }[],
    outcomes: readonly SendOutcome[],
  ): readonly number[]
}

export function createInOrder(book: Book, profile: ProfileWatch): InOrder {
  // Taken once, as the endpoint said, and missing there all the same.
  const missing = new Set<number>()
  let takenTo = 0

  /** Something of this nonce is in its pool, or was mined. */
  function isTaken(slot: Slot | undefined): boolean {
    if (slot?.state !== 'live' || missing.has(slot.nonce)) return false
    return slot.displaced || slot.attempts.some(({ accepted }) => accepted)
  }

  function forgetCovered(): void {
    for (const nonce of missing) if (nonce < book.coveredTo) missing.delete(nonce)
  }

  /** A nonce that the endpoint names as the next one is what it lacks: a negative acknowledgement. */
  function lacks(nonce: number): boolean {
    const slot = book.get(nonce)
    return slot?.state === 'live' && (newestAttempt(slot)?.sends ?? 0) > 0 && nonce >= book.coveredTo
  }

  return {
    get isOn() {
      return profile.current().gapBudget === 0
    },
    get sizeMax() {
      return profile.current().batchInOrder === false ? 1 : Number.POSITIVE_INFINITY
    },
    next() {
      forgetCovered()
      takenTo = Math.max(book.coveredTo, Math.min(takenTo, ...missing))
      while (isTaken(book.get(takenTo))) takenTo++
      return takenTo
    },
    said(batch, outcomes) {
      const taken = new Set<number>()
      for (const [index, { nonce }] of batch.entries()) {
        if (outcomes[index]?.outcome !== 'accepted') continue
        taken.add(nonce)
        missing.delete(nonce)
      }
      const again = new Set<number>()
      for (const [index, { nonce }] of batch.entries()) {
        const { reason, expectedNonce = nonce } = outcomes[index] ?? {}
        if (reason !== 'nonceTooHigh' || expectedNonce >= nonce) continue
        profile.observe({ kind: 'gapRefused', overtook: taken.has(nonce - 1) })
        if (!taken.has(expectedNonce) && lacks(expectedNonce)) again.add(expectedNonce)
      }
      for (const nonce of again) missing.add(nonce)
      return [...again]
    },
  }
}
