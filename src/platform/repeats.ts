import type { CancelTimer, Clock } from './clock.js'

/** Emits the first of many equal items at once, and the others as a count. */
export type Repeats<T> = {
  note(one: T): void
  /** Emits the counts that are pending. From then on each item is emitted at once. */
  stop(): void
}

/** The time during which equal items are counted. It doubles while more of them come. */
const WINDOW_MS = 10_000
const WINDOW_MS_MAX = 300_000
/** The number of kinds that are counted at once. Beyond it, the count of the oldest kind is emitted and begins again. */
const KINDS_MAX = 64

type Counted<T> = { newest: T; times: number; cancel: CancelTimer }

export function createRepeats<T>(parts: {
  readonly clock: Pick<Clock, 'setTimer'>
  /** Equal items have the same kind. */
  readonly kindOf: (one: T) => string
  /** `times`: the number of items that this one stands for. */
  readonly report: (one: T, times: number) => void
}): Repeats<T> {
  const { clock, kindOf, report } = parts
  const kinds = new Map<string, Counted<T>>()
  let stopped = false

  function begin(kind: string, newest: T, windowMs: number): void {
    const cancel = clock.setTimer(() => {
      const counted = end(kind)
      if (counted !== undefined && counted.times > 0)
        begin(kind, counted.newest, Math.min(WINDOW_MS_MAX, 2 * windowMs))
    }, windowMs)
    kinds.set(kind, { newest, times: 0, cancel })
  }

  function end(kind: string): Counted<T> | undefined {
    const counted = kinds.get(kind)
    kinds.delete(kind)
    counted?.cancel()
    if (counted !== undefined && counted.times > 0) report(counted.newest, counted.times)
    return counted
  }

  return {
    note(one) {
      if (stopped) return report(one, 1)
      const kind = kindOf(one)
      const counted = kinds.get(kind)
      if (counted !== undefined) {
        counted.newest = one
        counted.times++
        return
      }
      const [oldest] = kinds.keys()
      if (oldest !== undefined && kinds.size >= KINDS_MAX) end(oldest)
      begin(kind, one, WINDOW_MS)
      report(one, 1)
    },
    stop() {
      stopped = true
      for (const kind of [...kinds.keys()]) end(kind)
    },
  }
}

const KIND_LENGTH_MAX = 400

/** Two messages that differ only in numbers and hashes are equal. */
export function kindOfWords(...words: readonly unknown[]): string {
  const text = words.map((word) => String(word ?? '').slice(0, KIND_LENGTH_MAX)).join('\n')
  return text.replace(/0x[0-9a-f]+|\d+/gi, '#')
}

/** The kind of an error. The errors of txlane have the words of the node in their details. */
export function kindOfError(error: Error): string {
  const { code, shortMessage, details } = error as Error & Readonly<Record<string, unknown>>
  return kindOfWords(error.name, code, shortMessage ?? error.message, details)
}
