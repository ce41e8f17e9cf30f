import { systemClock } from '../../../src/platform/clock.js'
import type { Store } from '../../../src/types/store.js'
import type { Report } from '../asks.js'

/**
 * Writes to the pipe, or to its buffer. A killed process may therefore have reported less than it knows, but
 * never more.
 */
export function report(what: Report): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

/** A lane that this process owns, since that epoch. */
export type Held = { readonly account: number; readonly epoch: number }

/**
 * Wraps a store to report when a lane is acquired or released, and which bytes are journaled for which lane.
 */
export function createReportingStore(options: {
  readonly inner: Store
  /** Addresses in lower case. */
  readonly accounts: readonly string[]
  readonly holds: (held: Held) => void
  readonly journaled: (raw: string, held: Held) => void
}): Store {
  const { inner, accounts } = options
  const epochs = new Map<string, number>()

  return {
    ...inner,
    async acquire(lane, holder, ttlMs) {
      const lease = await inner.acquire(lane, holder, ttlMs)
      if (lease === undefined || epochs.get(lane.address) === lease.epoch) return lease
      epochs.set(lane.address, lease.epoch)
      const held = { account: accounts.indexOf(lane.address), epoch: lease.epoch }
      options.holds(held)
      report({ report: 'holds', ...held, atMs: systemClock.wallNow() })
      return lease
    },
    async release(lease) {
      await inner.release(lease)
      const account = accounts.indexOf(lease.lane.address)
      report({ report: 'gives', account, epoch: lease.epoch, atMs: systemClock.wallNow() })
    },
    async write(lease, change) {
      await inner.write(lease, change)
      const held = { account: accounts.indexOf(lease.lane.address), epoch: lease.epoch }
      for (const { state, attempts } of change.slots)
        if (state === 'live') for (const { raw } of attempts) options.journaled(raw, held)
    },
    async load(lease) {
      const state = await inner.load(lease)
      const held = { account: accounts.indexOf(lease.lane.address), epoch: lease.epoch }
      for (const { attempts } of state.slots) for (const { raw } of attempts) options.journaled(raw, held)
      return state
    },
  }
}
