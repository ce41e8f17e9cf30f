import type { ForkOptions } from 'node:child_process'
import { forkBuilt } from '../../test/support/forkBuilt.js'

/** The answer of a process to an order, matched by the order's number. Number 0 is the start. */
type Answer =
  | { readonly number: number; readonly type: 'done'; readonly value: unknown }
  | { readonly number: number; readonly type: 'failed'; readonly why: string }
type Numbered = { readonly number: number; readonly order: unknown }

/** A child process that executes orders. It ends when this process disposes of it, or ends. */
export type Child = AsyncDisposable & {
  /** The result of its start. */
  readonly started: Promise<unknown>
  /**
   * Sends an order. Several may be open at once; each gets its own answer.
   * @throws Error if the child failed or ended
   */
  ask(order: unknown): Promise<unknown>
  /** Ends the process at once. */
  kill(): Promise<void>
}

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }

/** @returns the child immediately; `started` resolves when it has started */
export function startChild(program: URL, args: readonly string[] = [], options: ForkOptions = {}): Child {
  const child = forkBuilt(program, args, options)
  const waiting = new Map<number, Waiting>()
  let number = 0
  let gone: Error | undefined
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      gone = new Error(`a process ended with ${signal ?? code}`)
      for (const { reject } of waiting.values()) reject(gone)
      waiting.clear()
      resolve()
    })
  })
  child.on('message', (answer: Answer) => {
    const asker = waiting.get(answer.number)
    waiting.delete(answer.number)
    if (answer.type === 'done') asker?.resolve(answer.value)
    else asker?.reject(new Error(answer.why))
  })

  function answerTo(asked: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (gone) reject(gone)
      else waiting.set(asked, { resolve, reject })
    })
  }

  const started = answerTo(number)
  // A caller may ignore `started`, so its rejection is handled here.
  started.catch(() => undefined)
  return {
    started,
    ask(order) {
      const answer = answerTo(++number)
      if (child.connected) child.send({ number, order } satisfies Numbered)
      return answer
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

export async function disposeAll(children: Iterable<Child>): Promise<void> {
  await Promise.all([...children].map((child) => child[Symbol.asyncDispose]()))
}

/**
 * For the child process: executes the orders one after the other, once `start` has resolved. The process
 * exits when the parent disconnects. The exit is explicit, because some libraries keep timers open forever.
 */
export function obeyOrders<order>(parts: {
  readonly start: Promise<unknown>
  readonly obey: (order: order) => Promise<unknown>
  readonly end?: () => Promise<unknown>
}): void {
  const { start, obey, end = async () => undefined } = parts
  const say = (said: Answer) => process.send?.(said)
  const answer = (number: number, work: Promise<unknown>) =>
    work.then(
      (value) => say({ number, type: 'done', value }),
      (error: unknown) => say({ number, type: 'failed', why: String(error).split('\n')[0] ?? '' }),
    )
  let turn: Promise<unknown> = answer(0, start)
  process.on('message', ({ number, order }: Numbered) => {
    turn = turn.then(() =>
      answer(
        number,
        start.then(() => obey(order as order)),
      ),
    )
  })
  process.once('disconnect', () => void end().finally(() => process.exit()))
}
