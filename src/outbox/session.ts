import type { CancelTimer, Clock } from '../platform/clock.js'
import type { OutboxLease } from '../types/outbox.js'
import type { Store } from '../types/store.js'
import { createDeliveryWorker, OPEN_MAX } from './deliveryWorker.js'
import type { OutboxLog } from './log.js'
import { reopened } from './news.js'
import type { OutboxEnvironment, OutboxSettings } from './options.js'
import { createReader } from './reader.js'
import { createWriter } from './writer.js'

/** The time in which this process owns the lease and delivers. */
export type Session = {
  /** Retries deliveries that were given up. */
  retry(): Promise<number>
  /** Lets running calls finish, and writes their results. */
  close(): Promise<void>
}

/** Maximum time for the last write at the end if the store does not answer. */
const LAST_WRITE_MS = 5_000

/** Starts to deliver. `lost` is called once, when another process owns the lease or may own it. */
export function createSession(parts: {
  readonly environment: OutboxEnvironment
  readonly settings: OutboxSettings
  readonly lease: OutboxLease
  readonly log: OutboxLog
  readonly takenMs: number
  readonly known: () => void
  readonly lost: () => void
}): Session {
  const { environment, settings, lease, log, known } = parts
  const { clock, background } = environment
  const { store, name } = settings
  const writer = createWriter({ store, lease, clock: background, lost: end, noted: log.noted })
  const { failed, noted } = log
  const worker = createDeliveryWorker({ environment, settings, store, writer, failed, noted })
  let reader: ReturnType<typeof createReader> | undefined
  let beginning: CancelTimer | undefined
  let ended = false
  let closing = false

  function end(): void {
    if (ended) return
    ended = true
    halt()
    worker.stop()
    writer.stop()
    parts.lost()
  }

  function halt(): void {
    stopKeeping()
    beginning?.()
    reader?.stop()
  }

  /** Deliveries that an earlier process left come first, so that no new one overtakes them. */
  async function begin(): Promise<void> {
    try {
      const open = await store.deliveries(name, { state: 'open', limit: 2 * OPEN_MAX })
      if (ended || closing) return
      for (const delivery of open) worker.offer(delivery)
      reader = createReader({
        clock: background,
        settings,
        writer,
        worker,
        givenUp: (delivery) => failed(delivery, undefined),
        known,
        noted,
      })
    } catch (error) {
      noted(error)
      if (!ended && !closing) beginning = background.setTimer(() => void begin(), RENEW_MS)
    }
  }

  const { takenMs } = parts
  const stopKeeping = keepLease({ store, lease, takenMs, clock, background, lost: end, noted })
  void begin()

  return {
    async retry() {
      const limit = Math.max(0, OPEN_MAX - worker.size)
      const hurried = worker.retryNow()
      const dead = (await store.deliveries(name, { state: 'dead', limit })).map(reopened)
      if (!(await writer.write({ deliveries: dead }))) return hurried
      for (const delivery of dead) worker.offer(delivery)
      return hurried + dead.length
    },
    async close() {
      closing = true
      reader?.stop()
      await worker.finish()
      await lastWrite()
      ended = true
      halt()
      worker.stop()
      writer.stop()
      // If the release fails, the lease expires by itself.
      await store.releaseOutbox(lease).catch(noted)
    },
  }

  function lastWrite(): Promise<unknown> {
    if (ended) return Promise.resolve()
    return new Promise<void>((resolve) => {
      const cancel = clock.setTimer(resolve, LAST_WRITE_MS)
      void writer.write({ deliveries: [] }).then(() => {
        cancel()
        resolve()
      })
    })
  }
}

export const LEASE_MS = 10_000
const RENEW_MS = 3_000

/**
 * Renews the lease of an outbox until the returned function is called. `lost` is called when another process
 * owns the lease or may own it: if the lease expires while the store does not answer.
 */
function keepLease(parts: {
  readonly store: Pick<Store, 'takeOutbox'>
  readonly lease: OutboxLease
  /** The time on `clock` at which the lease was requested. */
  readonly takenMs: number
  readonly clock: Pick<Clock, 'now'>
  /** A clock for timers that do not keep the process alive. */
  readonly background: Pick<Clock, 'setTimer'>
  readonly lost: () => void
  /** Called with each error of the store. */
  readonly noted: (error: unknown) => void
}): () => void {
  const { store, lease, clock, background, lost, noted } = parts
  let ownedUntilMs = parts.takenMs + LEASE_MS
  let expiry: CancelTimer | undefined
  let renewing: CancelTimer | undefined
  let stopped = false

  function watchExpiry(): void {
    expiry?.()
    expiry = background.setTimer(lost, Math.max(0, ownedUntilMs - clock.now()))
  }

  function renewLater(): void {
    renewing = background.setTimer(() => void renew(), RENEW_MS)
  }

  async function renew(): Promise<void> {
    const askedMs = clock.now()
    try {
      const again = await store.takeOutbox(lease.name, lease.holder, LEASE_MS)
      if (stopped) return
      if (again?.epoch !== lease.epoch) return lost()
      ownedUntilMs = askedMs + LEASE_MS
      watchExpiry()
    } catch (error) {
      noted(error)
    }
    if (!stopped) renewLater()
  }

  watchExpiry()
  renewLater()
  return () => {
    stopped = true
    expiry?.()
    renewing?.()
  }
}
