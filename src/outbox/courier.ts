import type { CancelTimer } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { Store, StoredTransaction } from '../types/store.js'
import { deliveryOf, withReceipt } from './deliveries.js'
import { type Failure, failureOf } from './deliveryError.js'
import type { OutboxEnvironment } from './environment.js'
import { advance, withHeard } from './news.js'
import type { OutboxSettings } from './options.js'
import { createTurns, NO_GROUP, type Turn } from './turns.js'
import { nameOf, type Writer } from './writer.js'

/** Calls the handler: for each transaction one call at a time, in the order of its stages, by turns of their groups. */
export type Courier = {
  /** Something is to be told, which is in the store already. `record`: as it was read just now. */
  offer(delivery: StoredDelivery, record?: StoredTransaction): void
  /** True where it is at work on the transaction: it looks at it once more. */
  note(name: string): boolean
  /** How many transactions it is at work on. */
  readonly size: number
  /**
   * The delivery as it is given up untried: where those of the group fail, and so many wait that they would take the room of
   * the others. Otherwise undefined.
   */
  withoutRoom(delivery: StoredDelivery, group: string | undefined): StoredDelivery | undefined
  /** What rests after a failure is due now. */
  hurry(): number
  /** Begins nothing more; resolves once no handler runs. */
  finish(): Promise<void>
  /** Another process delivers: what runs is aborted, and nothing comes of it. */
  stop(): void
}

type Task = {
  readonly name: string
  /** Of the transaction; undefined before its record was read. */
  group: string | undefined
  delivery: StoredDelivery
  /** Read with the change that it is about: no newer one was seen by then. */
  record: StoredTransaction | undefined
  /** It changed since it was looked at. */
  changed: boolean
  /** It rests after a failure. */
  rest: CancelTimer | undefined
}

export type CourierParts = {
  readonly environment: OutboxEnvironment
  readonly settings: OutboxSettings
  readonly store: Pick<Store, 'find'>
  readonly writer: Pick<Writer, 'write'>
  readonly failed: (delivery: StoredDelivery, restMs: number | undefined) => void
  /** The store does not answer. */
  readonly noted: (error: unknown) => void
}

/** While the store does not answer. */
const STORE_REST_MS = 1_000
/** While so many deliveries wait no more changes are read: they wait in the lanes. */
export const OPEN_MAX = 10_000
/** Why a delivery is given up that was never tried. */
const CROWDED = 'The deliveries of its group fail, and no room is left for more of them.'
/** The group of what is not read yet. No caller can name it. */
const UNREAD = '\0'
/** Beyond it doubling makes no difference. */
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

  /** Of what an earlier process has left it is not known whose it is. */
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

  /** Until nothing is to be told of it, or a call fails. Resolves with whether the last call was accepted. */
  async function work(task: Task): Promise<boolean | undefined> {
    let accepted: boolean | undefined
    while (!stopped) {
      const known = task.changed ? undefined : task.record
      task.changed = false
      const record = known ?? (await recordOf(task.delivery))
      task.record = undefined
      // It is kept no longer, and neither is what was to be told of it.
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

  /** It is in the store before the next call: who comes next knows what may have been heard. */
  async function settle(task: Task, delivery: StoredDelivery): Promise<boolean> {
    if (delivery === task.delivery) return true
    task.delivery = delivery
    return writer.write({ deliveries: [delivery] })
  }

  /** What the handler said against it; undefined where it accepted it. */
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
    // What it has become meanwhile is a reason to try once more.
    if (task.changed) return reopen(task)
    drop(task)
  }

  function reopen(task: Task): void {
    task.delivery = reopened(task.delivery)
    restFor(task, 0)
  }

  /** Doubled with each try, and up to half of it less, so that not all come at once. */
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

/** As if it had never failed. */
export function reopened({ chain, id, told, next, count }: StoredDelivery): StoredDelivery {
  return { chain, id, state: 'open', ...(told && { told }), ...(next && { next }), count, tries: 0 }
}
