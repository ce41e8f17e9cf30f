import type { CancelTimer, Clock } from './clock.js'

/** Tells the first of many alike at once, and the others as a number. */
export type Repeats<T> = {
  note(one: T): void
  /** What was counted and not told yet is told now; from then on each is told at once. */
  stop(): void
}

/** From the first of a kind, doubled for as long as more of it come. */
const WINDOW_MS = 10_000
const WINDOW_MS_MAX = 300_000
/** So many kinds are counted at once. Beyond them the oldest is told, and begins anew. */
const KINDS_MAX = 64

type Counted<T> = { newest: T; times: number; cancel: CancelTimer }

export function createRepeats<T>(parts: {
  readonly clock: Pick<Clock, 'setTimer'>
  /** What is alike has the same one. */
  readonly kindOf: (one: T) => string
  /** `times`: how many this one stands for. */
  readonly tell: (one: T, times: number) => void
}): Repeats<T> {
  const { clock, kindOf, tell } = parts
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
    if (counted !== undefined && counted.times > 0) tell(counted.newest, counted.times)
    return counted
  }

  return {
    note(one) {
      if (stopped) return tell(one, 1)
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
      tell(one, 1)
    },
    stop() {
      stopped = true
      for (const kind of [...kinds.keys()]) end(kind)
    },
  }
}

const KIND_LENGTH_MAX = 400

/** Words that differ in numbers and hashes alone say the same. */
export function kindOfWords(...words: readonly unknown[]): string {
  const text = words.map((word) => String(word ?? '').slice(0, KIND_LENGTH_MAX)).join('\n')
  return text.replace(/0x[0-9a-f]+|\d+/gi, '#')
}

/** What was told of an error: those of txlane have the node's own words in their details. */
export function kindOfError(error: Error): string {
  const { code, shortMessage, details } = error as Error & Readonly<Record<string, unknown>>
  return kindOfWords(error.name, code, shortMessage ?? error.message, details)
}
