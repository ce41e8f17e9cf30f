import type { CancelTimer } from '../platform/clock.js'
import type { OutboxLease } from '../types/outbox.js'
import { createCourier, OPEN_MAX, reopened } from './courier.js'
import type { OutboxEnvironment } from './environment.js'
import type { OutboxLog } from './log.js'
import type { OutboxSettings } from './options.js'
import { createReader } from './reader.js'
import { createWriter } from './writer.js'

/** The time in which this process delivers. */
export type Session = {
  /** Takes up what was given up. */
  retry(): Promise<number>
  /** What runs comes to its end, and is written. */
  close(): Promise<void>
}

export const LEASE_MS = 10_000
const RENEW_MS = 3_000
/** What is left to be written has so long at the end, where the store does not answer. */
const LAST_WRITE_MS = 5_000

/** `lost`: another process delivers from now on, or may do so. Called once. */
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
  const courier = createCourier({ environment, settings, store, writer, failed, noted })
  let reader: ReturnType<typeof createReader> | undefined
  let renewing: CancelTimer | undefined
  let beginning: CancelTimer | undefined
  let heldUntilMs = parts.takenMs + LEASE_MS
  let over: CancelTimer | undefined
  let ended = false
  let closing = false

  function end(): void {
    if (ended) return
    ended = true
    halt()
    courier.stop()
    writer.stop()
    parts.lost()
  }

  function halt(): void {
    renewing?.()
    beginning?.()
    over?.()
    reader?.stop()
  }

  /** What runs out while the store does not answer may be another's: nothing is told any more. */
  function watchEnd(): void {
    over?.()
    over = background.setTimer(end, Math.max(0, heldUntilMs - clock.now()))
  }

  function renewLater(): void {
    renewing = background.setTimer(() => void renew(), RENEW_MS)
  }

  async function renew(): Promise<void> {
    const askedMs = clock.now()
    try {
      const again = await store.takeOutbox(name, lease.holder, LEASE_MS)
      if (ended) return
      if (again?.epoch !== lease.epoch) return end()
      heldUntilMs = askedMs + LEASE_MS
      watchEnd()
    } catch (error) {
      noted(error)
    }
    if (!ended) renewLater()
  }

  /** What an earlier process has left comes first: nothing of it may be overtaken. */
  async function begin(): Promise<void> {
    try {
      const open = await store.deliveries(name, { state: 'open', limit: 2 * OPEN_MAX })
      if (ended || closing) return
      for (const delivery of open) courier.offer(delivery)
      reader = createReader({
        clock: background,
        settings,
        writer,
        courier,
        givenUp: (delivery) => failed(delivery, undefined),
        known,
        noted,
      })
    } catch (error) {
      noted(error)
      if (!ended && !closing) beginning = background.setTimer(() => void begin(), RENEW_MS)
    }
  }

  watchEnd()
  renewLater()
  void begin()

  return {
    async retry() {
      const limit = Math.max(0, OPEN_MAX - courier.size)
      const hurried = courier.hurry()
      const dead = (await store.deliveries(name, { state: 'dead', limit })).map(reopened)
      if (!(await writer.write({ deliveries: dead }))) return hurried
      for (const delivery of dead) courier.offer(delivery)
      return hurried + dead.length
    },
    async close() {
      closing = true
      reader?.stop()
      await courier.finish()
      await lastWrite()
      ended = true
      halt()
      courier.stop()
      writer.stop()
      // It runs out by itself.
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
