import type { CancelTimer, Clock } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import { nameOf } from './writer.js'

/** The pending work on one transaction. */
export type Task = {
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

/** The tasks by transaction. Each waits for its turn, runs, or pauses after a failure. */
export type Tasks = {
  readonly size: number
  /** Adds a task, which waits for its turn. `record`: the transaction as it was just read. */
  add(delivery: StoredDelivery, record: StoredTransaction | undefined): void
  /** Marks the transaction as changed. Returns false if it has no task. */
  note(name: string): boolean
  /** Lets the task wait for the turns of the group of its record. */
  assign(task: Task, record: StoredTransaction): void
  /** Lets the task wait for its turn again after a pause. */
  pause(task: Task, pauseMs: number): void
  /** Ends all pauses. Returns their number. */
  retryNow(): number
  drop(task: Task): void
  /** No task waits for its turn after this: pauses do not end, and none are added. */
  close(): void
}

/** The group of transactions that were not read yet. Callers cannot use this name. */
const UNREAD = '\0'

/** `due` is called when a pause has ended and a task waits for its turn. */
export function createTasks(turns: Turns<Task>, clock: Pick<Clock, 'setTimer'>, due: () => void): Tasks {
  const tasks = new Map<string, Task>()
  let isClosed = false

  function wait(task: Task): void {
    turns.wait(task, task.group ?? UNREAD, task.delivery.tries > 0)
  }

  function wake(task: Task): void {
    task.rest?.()
    task.rest = undefined
    if (isClosed) return
    wait(task)
    due()
  }

  return {
    get size() {
      return tasks.size
    },
    add(delivery, record) {
      if (isClosed) return
      const name = nameOf(delivery)
      const group = record && (record.group ?? NO_GROUP)
      const task = { name, group, delivery, record, changed: false, rest: undefined }
      tasks.set(name, task)
      turns.join(group ?? UNREAD)
      wait(task)
    },
    note(name) {
      const task = tasks.get(name)
      if (task) task.changed = true
      return task !== undefined
    },
    assign(task, record) {
      turns.leave(UNREAD)
      task.group = record.group ?? NO_GROUP
      turns.join(task.group)
      wait(task)
    },
    pause(task, pauseMs) {
      if (!isClosed) task.rest = clock.setTimer(() => wake(task), pauseMs)
    },
    retryNow() {
      const resting = [...tasks.values()].filter(({ rest }) => rest !== undefined)
      for (const task of resting) wake(task)
      return resting.length
    },
    drop({ name, group }) {
      tasks.delete(name)
      turns.leave(group ?? UNREAD)
    },
    close() {
      isClosed = true
      for (const { rest } of tasks.values()) rest?.()
    },
  }
}

/**
 * Decides whose turn it is. Groups with pending deliveries take turns, so that a group with many does not
 * delay the others. A group starts with two concurrent calls. They double with each accepted call and fall
 * back to two after a failure, so that a silent receiver takes no more places. Deliveries without a group
 * have no such limit, because they need not go to one receiver.
 */
export type Turns<T> = {
  /** The number of running calls. */
  readonly running: number
  /** Adds a delivery to the group. It counts until `leave`. */
  join(group: string): void
  leave(group: string): void
  /** `isAgain`: the delivery failed before. */
  wait(item: T, group: string, isAgain: boolean): void
  /** Starts the next item. Undefined if none may start now. */
  next(): Turn<T> | undefined
  /** True if the last call of the group failed, and the group has more deliveries than there is room. */
  isCrowded(group: string, room: number): boolean
}

export type Turn<T> = {
  readonly item: T
  /** Ends a turn. `accepted` is undefined if there was no call. */
  end(accepted: boolean | undefined): void
}

type Group<T> = {
  readonly fresh: T[]
  readonly again: T[]
  members: number
  running: number
  retrying: number
  window: number
  isFailing: boolean
}

/** The group of deliveries without a group. Callers cannot use this name. */
export const NO_GROUP = ''

/** One for deliveries that were never tried, and one for retries. */
const WINDOW_MIN = 2

const half = (count: number) => Math.max(1, Math.floor(count / 2))

/**
 * `concurrency`: maximum number of running calls. Retries and failing groups get at most half of them, but at
 * least one.
 */
export function createTurns<T>(concurrency: number): Turns<T> {
  const doubtfulMax = half(concurrency)
  // The groups in the order of their turns.
  const groups = new Map<string, Group<T>>()
  let running = 0
  let doubtful = 0

  function groupOf(name: string): Group<T> {
    const known = groups.get(name)
    if (known) return known
    const window = name === NO_GROUP ? concurrency : WINDOW_MIN
    const group = { fresh: [], again: [], members: 0, running: 0, retrying: 0, window, isFailing: false }
    groups.set(name, group)
    return group
  }

  /** Deliveries that were never tried go first, so that a failure delays only its own delivery. */
  function pick(): { name: string; group: Group<T>; isRetry: boolean; isDoubtful: boolean } | undefined {
    for (const isRetry of [false, true])
      for (const [name, group] of groups) {
        const isDoubtful = isRetry || group.isFailing
        const waits = isRetry ? group.again : group.fresh
        if (waits.length === 0 || group.running >= group.window) continue
        if (isRetry && group.retrying >= half(group.window)) continue
        if (!isDoubtful || doubtful < doubtfulMax) return { name, group, isRetry, isDoubtful }
      }
    return undefined
  }

  return {
    get running() {
      return running
    },
    join(name) {
      groupOf(name).members++
    },
    leave(name) {
      const group = groupOf(name)
      if (--group.members <= 0) groups.delete(name)
    },
    wait(item, name, isAgain) {
      const group = groupOf(name)
      if (isAgain) group.again.push(item)
      else group.fresh.push(item)
    },
    next() {
      const picked = running < concurrency ? pick() : undefined
      if (picked === undefined) return undefined
      const { name, group, isRetry, isDoubtful } = picked
      const item = (isRetry ? group.again : group.fresh).shift() as T
      // Moves the group behind all others.
      groups.delete(name)
      groups.set(name, group)
      const count = (by: 1 | -1) => {
        running += by
        group.running += by
        if (isRetry) group.retrying += by
        if (isDoubtful) doubtful += by
      }
      count(1)
      return {
        item,
        end(accepted) {
          count(-1)
          if (accepted === undefined || name === NO_GROUP) return
          group.isFailing = !accepted
          group.window = accepted ? Math.min(Math.max(concurrency, WINDOW_MIN), 2 * group.window) : WINDOW_MIN
        },
      }
    },
    isCrowded: (name, room) => {
      const { isFailing, members } = groups.get(name) ?? { isFailing: false, members: 0 }
      return isFailing && members > room
    },
  }
}
