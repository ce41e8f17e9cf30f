import type { CancelTimer } from '../clock.js'
import type { StoredDelivery } from '../store/outbox.js'
import type { Store, StoredTransaction } from '../store/store.js'
import { deliveryOf, withReceipt } from './deliveries.js'
import { type Failure, failureOf } from './deliveryError.js'
import type { OutboxEnvironment } from './environment.js'
import { advance, withHeard } from './news.js'
import type { OutboxSettings } from './options.js'
import { createTurns, NO_GROUP, type Turn } from './turns.js'
import { nameOf, type Writer } from './writer.js'

/**
 * Calls the handler: one call at a time for each transaction, in the order of its stages. The groups take
 * turns.
 */
export type Courier = {
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
  hurry(): number
  /** Starts no more calls. Resolves once no handler runs. */
  finish(): Promise<void>
  /** Called when another process delivers: running calls are aborted, and their results are ignored. */
  stop(): void
}

type Task = {
  readonly name: string
  /** The group of the transaction; undefined until its record was read. */
  group: string | undefined
  delivery: StoredDelivery
  /** The record read with the change. It is current until a newer change is noted. */
  record: StoredTransaction | undefined
  /** True if the transaction changed since it was last read. */
  changed: boolean
  /** The timer of the pause after a failure. */
  rest: CancelTimer | undefined
}

export type CourierParts = {
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
/** The group of transactions that were not read yet. Callers cannot use this name. */
const UNREAD = '\0'
/** Further doublings make no difference. */
const DOUBLINGS_MAX = 30

export function createCourier(parts: CourierParts): Courier {
  const { environment, settings, store, writer, failed, noted } = parts
  const { clock, background, random } = environment
  const { concurrency, timeoutMs, wanted } = settings
  const tasks = new Map<string, Task>()
  const turns = createTurns<Task>(concurrency)
  const controllers = new Set<AbortController>()
  const idle: (() => void)[] = []
  let finishing = false
  let stopped = false

  function queue(task: Task): void {
    turns.wait(task, task.group ?? UNREAD, task.delivery.tries > 0)
    pump()
  }

  function pump(): void {
    while (!finishing) {
      const turn = turns.next()
      if (turn === undefined) return
      void run(turn)
    }
  }

  async function run({ item: task, end }: Turn<Task>): Promise<void> {
    let accepted: boolean | undefined
    try {
      accepted = task.group === undefined ? await learn(task) : await work(task)
    } catch (error) {
      noted(error)
      restFor(task, STORE_REST_MS)
    }
    end(accepted)
    if (turns.running === 0) for (const resolve of idle.splice(0)) resolve()
    pump()
  }

  function drop({ name, group }: Task): void {
    tasks.delete(name)
    turns.leave(group ?? UNREAD)
  }

  /** Reads the group of a transaction. It is not known for deliveries that an earlier process left. */
  async function learn(task: Task): Promise<true> {
    const record = await recordOf(task.delivery)
    if (record === undefined) drop(task)
    else {
      if (!task.changed) task.record = record
      turns.leave(UNREAD)
      task.group = record.group ?? NO_GROUP
      turns.join(task.group)
      turns.wait(task, task.group, task.delivery.tries > 0)
    }
    return true
  }

  /**
   * Works until there is nothing to deliver for the transaction, or a call fails. Resolves with true if the
   * last call was accepted.
   */
  async function work(task: Task): Promise<boolean | undefined> {
    let accepted: boolean | undefined
    while (!stopped) {
      const known = task.changed ? undefined : task.record
      task.changed = false
      const record = known ?? (await recordOf(task.delivery))
      task.record = undefined
      // The store no longer has the transaction, and no longer has its delivery.
      if (record === undefined) {
        drop(task)
        return accepted
      }
      if (!(await settle(task, advance(task.delivery, record, wanted)))) return accepted
      if (task.delivery.state === 'told') {
        if (task.changed) continue
        drop(task)
        return accepted
      }
      if (finishing) return accepted
      const failure = await call(task.delivery, record)
      if (stopped) return undefined
      if (failure) {
        await fail(task, failure)
        return false
      }
      accepted = true
      if (!(await settle(task, advance(withHeard(task.delivery), record, wanted)))) return accepted
    }
    return accepted
  }

  const recordOf = ({ chain, id }: StoredDelivery) => store.find(chain, { id })

  /**
   * Stores the delivery before the next call, so that the next process knows which deliveries the receiver
   * may have seen.
   */
  async function settle(task: Task, delivery: StoredDelivery): Promise<boolean> {
    if (delivery === task.delivery) return true
    task.delivery = delivery
    return writer.write({ deliveries: [delivery] })
  }

  /** Calls the handler. Resolves with its failure; undefined if it accepted the delivery. */
  function call(delivery: StoredDelivery, record: StoredTransaction): Promise<Failure | undefined> {
    const controller = new AbortController()
    const { signal } = controller
    controllers.add(controller)
    return new Promise<Failure | undefined>((resolve) => {
      const cancel = clock.setTimer(() => {
        resolve(failureOf(new Error(`No answer in ${timeoutMs} ms.`)))
        controller.abort()
      }, timeoutMs)
      signal.addEventListener('abort', () => resolve(undefined))
      hand(delivery, record, signal)
        .then(
          () => resolve(undefined),
          (error: unknown) => resolve(failureOf(error)),
        )
        .finally(cancel)
    }).finally(() => controllers.delete(controller))
  }

  async function hand(
    delivery: StoredDelivery,
    record: StoredTransaction,
    signal: AbortSignal,
  ): Promise<void> {
    const plain = deliveryOf(settings.name, delivery, record)
    const whole = await withReceipt(plain, settings.receipts, { timeoutMs, signal })
    if (!signal.aborted) await settings.onStage(whole, { signal })
  }

  async function fail(task: Task, { reason, isFinal, retryAfterMs }: Failure): Promise<void> {
    const tries = task.delivery.tries + 1
    const isDead = isFinal || tries >= settings.triesMax
    const sinceMs = task.delivery.sinceMs ?? clock.wallNow()
    const state = isDead ? 'dead' : 'open'
    task.delivery = { ...task.delivery, state, tries, failure: reason, sinceMs }
    const restMs = Math.max(retryAfterMs, pauseMs(tries))
    failed(task.delivery, isDead ? undefined : restMs)
    const isWritten = await writer.write({ deliveries: [task.delivery] })
    if (!isWritten) return
    if (!isDead) return restFor(task, restMs)
    // A change of the transaction in the meantime is a reason to try once more.
    if (task.changed) return reopen(task)
    drop(task)
  }

  function reopen(task: Task): void {
    task.delivery = reopened(task.delivery)
    restFor(task, 0)
  }

  /**
   * The pause doubles with each try. A random part of up to half is subtracted, so that retries do not
   * coincide.
   */
  function pauseMs(tries: number): number {
    const { retryMinMs, retryMaxMs } = settings
    const fullMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(tries - 1, DOUBLINGS_MAX))
    return Math.max(retryMinMs, fullMs * (1 - random() / 2))
  }

  function restFor(task: Task, restMs: number): void {
    if (stopped || finishing) return
    task.rest = background.setTimer(() => wake(task), restMs)
  }

  function wake(task: Task): void {
    task.rest?.()
    task.rest = undefined
    if (!stopped && !finishing) queue(task)
  }

  return {
    offer(delivery, record) {
      if (stopped || finishing) return
      const name = nameOf(delivery)
      const group = record && (record.group ?? NO_GROUP)
      const task = { name, group, delivery, record, changed: false, rest: undefined }
      tasks.set(name, task)
      turns.join(group ?? UNREAD)
      queue(task)
    },
    note(name) {
      const task = tasks.get(name)
      if (task) task.changed = true
      return task !== undefined
    },
    get size() {
      return tasks.size
    },
    withoutRoom(delivery, group) {
      if (group === undefined || !turns.isCrowded(group, OPEN_MAX - tasks.size)) return undefined
      return { ...delivery, state: 'dead', failure: CROWDED, sinceMs: clock.wallNow() }
    },
    hurry() {
      const resting = [...tasks.values()].filter(({ rest }) => rest !== undefined)
      for (const task of resting) wake(task)
      return resting.length
    },
    finish() {
      finishing = true
      for (const { rest } of tasks.values()) rest?.()
      return turns.running === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))
    },
    stop() {
      stopped = finishing = true
      for (const { rest } of tasks.values()) rest?.()
      for (const controller of controllers) controller.abort()
    },
  }
}

/** The delivery without its failures. */
export function reopened({ chain, id, told, next, count }: StoredDelivery): StoredDelivery {
  return { chain, id, state: 'open', ...(told && { told }), ...(next && { next }), count, tries: 0 }
}
