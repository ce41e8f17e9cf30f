import type { StoredDelivery } from '../types/outbox.js'
import type { Store, StoredTransaction } from '../types/store.js'
import type { OutboxEnvironment } from './environment.js'
import { createHandlerCalls } from './handlerCalls.js'
import type { OutboxSettings } from './options.js'
import { createTaskRunner } from './taskRunner.js'
import { createTasks, type Task } from './tasks.js'
import { createTurns, type Turn } from './turns.js'
import type { Writer } from './writer.js'

/**
 * Calls the handler: one call at a time for each transaction, in the order of its stages. The groups take
 * turns.
 */
export type DeliveryWorker = {
  /** Adds a delivery that is already in the store. `record`: the transaction as it was just read. */
  offer(delivery: StoredDelivery, record?: StoredTransaction): void
  /** Marks a transaction as changed, so that it is read again. Returns false if there is no work on it. */
  note(name: string): boolean
  /** The number of transactions with pending work. */
  readonly size: number
  /**
   * The delivery in the state `dead`, if it has to be given up untried: the deliveries of its group fail, and
   * so many wait that they would take the room of other groups. Otherwise undefined.
   */
  withoutRoom(delivery: StoredDelivery, group: string | undefined): StoredDelivery | undefined
  /** Makes deliveries that pause after a failure due now. Returns their number. */
  retryNow(): number
  /** Starts no more calls. Resolves once no handler runs. */
  finish(): Promise<void>
  /** Called when another process delivers: running calls are aborted, and their results are ignored. */
  stop(): void
}

export type DeliveryWorkerParts = {
  readonly environment: OutboxEnvironment
  readonly settings: OutboxSettings
  readonly store: Pick<Store, 'find'>
  readonly writer: Pick<Writer, 'write'>
  readonly failed: (delivery: StoredDelivery, restMs: number | undefined) => void
  /** Called with an error if the store does not answer. */
  readonly noted: (error: unknown) => void
}

/** The pause after a failure of the store. */
const STORE_REST_MS = 1_000
/** While this many deliveries wait, no more changes are read; they wait in the lanes. */
export const OPEN_MAX = 10_000
/** The reason for giving up a delivery that was never tried. */
const CROWDED = 'The deliveries of its group fail, and no room is left for more of them.'

export function createDeliveryWorker(parts: DeliveryWorkerParts): DeliveryWorker {
  const { environment, settings, store, writer, failed, noted } = parts
  const { clock, background, random } = environment
  const turns = createTurns<Task>(settings.concurrency)
  const tasks = createTasks(turns, background, pump)
  const calls = createHandlerCalls(clock, settings)
  const work = createTaskRunner({ clock, random, settings, store, writer, tasks, calls, failed })
  const idle: (() => void)[] = []

  function pump(): void {
    while (!calls.isClosed) {
      const turn = turns.next()
      if (turn === undefined) return
      void run(turn)
    }
  }

  async function run({ item: task, end }: Turn<Task>): Promise<void> {
    let accepted: boolean | undefined
    try {
      accepted = await work(task)
    } catch (error) {
      noted(error)
      tasks.pause(task, STORE_REST_MS)
    }
    end(accepted)
    if (turns.running === 0) for (const resolve of idle.splice(0)) resolve()
    pump()
  }

  return {
    offer(delivery, record) {
      tasks.add(delivery, record)
      pump()
    },
    note: tasks.note,
    get size() {
      return tasks.size
    },
    withoutRoom(delivery, group) {
      if (group === undefined || !turns.isCrowded(group, OPEN_MAX - tasks.size)) return undefined
      return { ...delivery, state: 'dead', failure: CROWDED, sinceMs: clock.wallNow() }
    },
    retryNow: tasks.retryNow,
    finish() {
      calls.close()
      tasks.close()
      return turns.running === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))
    },
    stop() {
      calls.stop()
      tasks.close()
    },
  }
}
