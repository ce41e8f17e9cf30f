import type { Row } from '../file/rows.js'
import type { Request } from './payment.js'

/** One transaction, and the rows that it pays. */
export type Sending = {
  readonly id: string
  readonly again?: true | undefined
  readonly request: Request
  readonly signal?: AbortSignal
  /** All rows of the transaction share its fee; `rows` are those that get its result. */
  readonly shared: readonly Row[]
  readonly rows: readonly Row[]
}

/** The transactions of a run that have not ended, by their place in `sendMany`. */
export type UnderWay = {
  take(sending: Sending): void
  end(index: number): Sending
  /** The number of rows of a transaction that is under way. */
  rowsOf(id: string): number
  readonly count: number
  /** Resolves when at most `most` packs are under way. */
  packs(most: number): Promise<void>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

export function createUnderWay(): UnderWay {
  const taken: Sending[] = []
  const open = new Map<string, Sending>()
  const waiting = new Set<{ readonly isOver: () => boolean; readonly resolve: () => void }>()
  let packs = 0

  function until(isOver: () => boolean): Promise<void> {
    if (isOver()) return Promise.resolve()
    return new Promise((resolve) => waiting.add({ isOver, resolve }))
  }

  const isPack = ({ shared }: Sending) => shared.length > 1

  return {
    take(sending) {
      taken.push(sending)
      open.set(sending.id, sending)
      if (isPack(sending)) packs++
    },
    end(index) {
      const sending = taken[index] as Sending
      if (open.delete(sending.id) && isPack(sending)) packs--
      for (const each of waiting) {
        if (!each.isOver()) continue
        waiting.delete(each)
        each.resolve()
      }
      return sending
    },
    rowsOf: (id) => open.get(id)?.rows.length ?? 0,
    get count() {
      return open.size
    },
    packs: (most) => until(() => packs <= most),
    idle: () => until(() => open.size === 0),
  }
}
