import { isTxlaneError } from '../errors/base.js'
import type { Clock } from '../platform/clock.js'
import type { OutboxLease, StoredDelivery } from '../types/outbox.js'
import { type LaneKey, laneName, type Store, transactionName } from '../types/store.js'

/** Writes delivery states, one write at a time. Changes that arrive meanwhile share the next write. */
export type Writer = {
  /**
   * Resolves with true once the change is in the store, and with false if this process does not deliver any
   * more.
   */
  write(change: {
    readonly read?: readonly { readonly lane: LaneKey; readonly revision: number }[] | undefined
    readonly deliveries: readonly StoredDelivery[]
  }): Promise<boolean>
  /** Stops all writes. */
  stop(): void
}

const PAUSES_MS = [100, 200, 400, 800, 1_600, 3_200, 5_000] as const

/** The name of a transaction within a store. */
export const nameOf = ({ chain, id }: Pick<StoredDelivery, 'chain' | 'id'>) => transactionName(chain, id)

export function createWriter(parts: {
  readonly store: Pick<Store, 'writeOutbox'>
  readonly lease: OutboxLease
  readonly clock: Pick<Clock, 'setTimer'>
  /** Called when another process delivers. */
  readonly lost: () => void
  /** Called with the error of each failed write, and with `undefined` after a successful one. */
  readonly noted: (error: unknown) => void
}): Writer {
  const { store, lease, clock, lost, noted } = parts
  let read = new Map<string, { readonly lane: LaneKey; readonly revision: number }>()
  let deliveries = new Map<string, StoredDelivery>()
  let waiting: ((isWritten: boolean) => void)[] = []
  let running = false
  let stopped = false
  let failures = 0

  async function run(): Promise<void> {
    running = true
    while (!stopped && waiting.length > 0) await once()
    running = false
  }

  async function once(): Promise<void> {
    const [lanes, puts, written] = [read, deliveries, waiting]
    read = new Map()
    deliveries = new Map()
    waiting = []
    try {
      await store.writeOutbox(lease, { read: [...lanes.values()], deliveries: [...puts.values()] })
    } catch (error) {
      // The changes that arrived meanwhile are newer.
      read = new Map([...lanes, ...read])
      deliveries = new Map([...puts, ...deliveries])
      waiting = [...written, ...waiting]
      if (isTxlaneError(error) && error.code === 'LEASE_LOST') return stopWith(lost)
      if (stopped) return stop()
      noted(error)
      const pauseMs = PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)] ?? 5_000
      await new Promise<void>((resolve) => void clock.setTimer(resolve, pauseMs))
      return
    }
    failures = 0
    noted(undefined)
    for (const resolve of written) resolve(true)
  }

  function stopWith(then: () => void): void {
    stop()
    then()
  }

  function stop(): void {
    stopped = true
    for (const resolve of waiting.splice(0)) resolve(false)
  }

  return {
    write(change) {
      if (stopped) return Promise.resolve(false)
      for (const one of change.read ?? []) read.set(laneName(one.lane), one)
      for (const delivery of change.deliveries) deliveries.set(nameOf(delivery), delivery)
      return new Promise((resolve) => {
        waiting.push(resolve)
        if (!running) void run()
      })
    },
    stop,
  }
}
