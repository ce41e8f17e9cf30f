import { isTxlaneError } from '../errors/base.js'
import type { Clock } from '../platform/clock.js'
import type { Lease, Store } from '../types/store.js'

export type RereadOptions = {
  readonly store: Store
  readonly lease: Lease
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  /** The store reports that another process owns the lane's lease: nothing is written any more. */
  readonly onLost: () => void
}

/** Reads the store again after a write with an unknown result. */
export type Reread = {
  /**
   * The hashes of all attempts in the store, read until the store answers. Undefined after `stop`.
   * `failures`: consecutive failed writes. They are spaced even if reads succeed while writes fail (a full
   * disk).
   */
  hashes(failures: number): Promise<ReadonlySet<string> | undefined>
  /** Ends a pause at once, so that the work under way finishes. */
  stop(): void
}

const RETRY_MS = [50, 100, 200, 400, 800, 1_600, 3_000] as const

export function createReread({ store, lease, clock, onError, onLost }: RereadOptions): Reread {
  let stopped = false
  let wake: (() => void) | undefined

  function pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.setTimer(resolve, delayMs)
      wake = () => {
        cancel()
        resolve()
      }
    })
  }

  return {
    async hashes(failures) {
      for (let tries = failures - 1; !stopped; tries++) {
        await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 3_000)
        try {
          const { slots } = await store.load(lease)
          return new Set(slots.flatMap((slot) => slot.attempts.map((attempt) => attempt.hash)))
        } catch (error) {
          if (isLeaseLost(error)) onLost()
          else onError(error)
        }
      }
      return undefined
    },
    stop() {
      stopped = true
      wake?.()
    },
  }
}

export function isLeaseLost(error: unknown): boolean {
  return isTxlaneError(error) && error.code === 'LEASE_LOST'
}
