import type { Lane } from '../../allocator/lane.js'
import type { Clock } from '../../platform/clock.js'
import { createPoller } from '../../platform/poller.js'
import type { Store, StoredTransaction, Wish } from '../../types/store.js'
import type { Admission } from './admission.js'

type InboxContext = {
  readonly lane: Lane
  readonly store: Store
  readonly admission: Admission
  readonly closed: boolean
}

/** Takes in what other processes left in the store for the holder of the lane: transactions, and wishes. */
export type Inbox = {
  /** Wishes up to this one were done: the next write deletes them. */
  readonly commandsDoneUpTo: number
  /** This process left one there itself: the next in line need not be asked for. */
  own(sequence: number): void
  stop(): void
}

const PAGE = 500
const LOOK_AGAIN_MS = 2_000

export function createInbox(
  context: InboxContext,
  options: {
    /** What was there already when the lane was read. */
    readonly after: number
    /** The store is about to be asked: what it says may be old by the time it is taken. */
    readonly asking: () => void
    readonly take: (stored: StoredTransaction) => Promise<void> | void
    readonly wish: (id: string, wish: Wish) => void
    readonly failed: (error: unknown) => void
    /** A look now and then is no unfinished work. */
    readonly background: Clock
  },
): Inbox {
  const { store, lane, admission } = context
  let after = options.after
  let wished = 0
  const poller = createPoller({
    clock: () => options.background,
    everyMs: () => LOOK_AGAIN_MS,
    read,
    failed: options.failed,
  })
  // The highest place in the order that the store told of; where it told none, beyond all.
  let told = 0
  let waits = false
  const unwatch = store.watch(lane.key, (sequence = Number.POSITIVE_INFINITY) => {
    told = Math.max(told, sequence)
    const { keeping } = admission
    if (keeping === undefined) return lookIfNew()
    // What this process leaves there itself is known as soon as the store has answered.
    if (waits) return
    waits = true
    void keeping.then(() => {
      waits = false
      lookIfNew()
    })
  })

  function lookIfNew(): void {
    if (told <= after) return
    told = 0
    poller.pollNow()
  }

  async function read(): Promise<void> {
    while (!context.closed && (await page())) {}
  }

  /** True while there may be more. */
  async function page(): Promise<boolean> {
    options.asking()
    const { transactions, wishes } = await store.arrivals(lane.key, after, PAGE)
    if (context.closed) return false
    for (const stored of transactions) await options.take(stored)
    for (const { id, wish } of wishes) options.wish(id, wish)
    wished = Math.max(wished, wishes.at(-1)?.sequence ?? 0)
    after = Math.max(after, transactions.at(-1)?.sequence ?? 0, wishes.at(-1)?.sequence ?? 0)
    return transactions.length + wishes.length >= PAGE
  }

  poller.pollNow()
  return {
    get commandsDoneUpTo() {
      return wished
    },
    own(sequence) {
      if (sequence === after + 1) after = sequence
    },
    stop() {
      unwatch()
      poller.stop()
    },
  }
}
