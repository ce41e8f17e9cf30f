import type { Clock, Random } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { Store, StoredTransaction } from '../types/store.js'
import type { Failure } from './deliveryError.js'
import { createHandlerCalls, type HandlerCalls } from './handlerCalls.js'
import { advance, asDelivered, reopened } from './news.js'
import type { OutboxEnvironment, OutboxSettings } from './options.js'
import { createTasks, createTurns, type Task, type Tasks, type Turn } from './tasks.js'
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
   * The delivery in the state `dead`, if it has to be given up untried: the deliveries of its group fail, and the
   * waiting ones would take the room of other groups. Otherwise undefined.
   */
  withoutRoom(delivery: StoredDelivery, group: string | undefined): StoredDelivery | undefined
  /** Makes deliveries that pause after a failure due now. Returns their number. */
  retryNow(): number
  /** Starts no more calls. Resolves once no handler runs. */
  finish(): Promise<void>
  /** Called when another process delivers: running calls are aborted, and their results are ignored. */
  stop(): void
}

type DeliveryWorkerParts = {
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

/**
 * Works on a task in its turn, until there is nothing to deliver for the transaction, or a call fails. Resolves
 * with true if the last call was accepted, and with undefined if there was no call.
 */
type RunTask = (task: Task) => Promise<boolean | undefined>

type TaskRunnerParts = {
  readonly clock: Pick<Clock, 'wallNow'>
  readonly random: Random
  readonly settings: OutboxSettings
  readonly store: Pick<Store, 'find'>
  readonly writer: Pick<Writer, 'write'>
  readonly tasks: Pick<Tasks, 'assign' | 'pause' | 'drop'>
  readonly calls: Pick<HandlerCalls, 'call' | 'isClosed' | 'isStopped'>
  /** Called with a failed delivery, and the milliseconds until the next try; undefined if it was given up. */
  readonly failed: (delivery: StoredDelivery, restMs: number | undefined) => void
}

/** Further doublings make no difference. */
const DOUBLINGS_MAX = 30

function createTaskRunner(parts: TaskRunnerParts): RunTask {
  const { clock, random, settings, store, writer, tasks, calls, failed } = parts
  const { wanted, triesMax } = settings

  /** Reads the group of a transaction. It is not known for deliveries that an earlier process left. */
  async function learn(task: Task): Promise<true> {
    const record = await recordOf(task.delivery)
    if (record === undefined) tasks.drop(task)
    else {
      if (!task.changed) task.record = record
      tasks.assign(task, record)
    }
    return true
  }

  async function work(task: Task): Promise<boolean | undefined> {
    let accepted: boolean | undefined
    while (!calls.isStopped) {
      const known = task.changed ? undefined : task.record
      task.changed = false
      const record = known ?? (await recordOf(task.delivery))
      task.record = undefined
      // The store no longer has the transaction, and no longer has its delivery.
      if (record === undefined) {
        tasks.drop(task)
        return accepted
      }
      if (!(await settle(task, advance(task.delivery, record, wanted)))) return accepted
      if (task.delivery.state === 'delivered') {
        if (task.changed) continue
        tasks.drop(task)
        return accepted
      }
      if (calls.isClosed) return accepted
      const failure = await calls.call(task.delivery, record)
      if (calls.isStopped) return undefined
      if (failure) {
        await fail(task, failure)
        return false
      }
      accepted = true
      if (!(await settle(task, advance(asDelivered(task.delivery), record, wanted)))) return accepted
    }
    return accepted
  }

  const recordOf = ({ chain, id }: StoredDelivery): Promise<StoredTransaction | undefined> =>
    store.find(chain, { id })

  /**
   * Stores the delivery before the next call, so that the next process knows which deliveries the receiver
   * may have seen.
   */
  async function settle(task: Task, delivery: StoredDelivery): Promise<boolean> {
    if (delivery === task.delivery) return true
    task.delivery = delivery
    return writer.write({ deliveries: [delivery] })
  }

  async function fail(task: Task, { reason, isFinal, retryAfterMs }: Failure): Promise<void> {
    const tries = task.delivery.tries + 1
    const isDead = isFinal || tries >= triesMax
    const sinceMs = task.delivery.sinceMs ?? clock.wallNow()
    const state = isDead ? 'dead' : 'open'
    task.delivery = { ...task.delivery, state, tries, failure: reason, sinceMs }
    const restMs = Math.max(retryAfterMs, pauseMs(tries, settings, random))
    failed(task.delivery, isDead ? undefined : restMs)
    const isWritten = await writer.write({ deliveries: [task.delivery] })
    if (!isWritten) return
    if (!isDead) return tasks.pause(task, restMs)
    // A change of the transaction in the meantime is a reason to try once more.
    if (task.changed) return reopen(task)
    tasks.drop(task)
  }

  function reopen(task: Task): void {
    task.delivery = reopened(task.delivery)
    tasks.pause(task, 0)
  }

  return (task) => (task.group === undefined ? learn(task) : work(task))
}

/**
 * The pause doubles with each try. A random part of up to half is subtracted, so that retries do not coincide.
 */
function pauseMs(tries: number, { retryMinMs, retryMaxMs }: OutboxSettings, random: Random): number {
  const fullMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(tries - 1, DOUBLINGS_MAX))
  return Math.max(retryMinMs, fullMs * (1 - random() / 2))
}
