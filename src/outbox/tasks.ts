import type { CancelTimer, Clock } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import type { StoredTransaction } from '../types/store.js'
import { NO_GROUP, type Turns } from './turns.js'
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
