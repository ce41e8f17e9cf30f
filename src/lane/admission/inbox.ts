import type { Lane } from '../../allocator/lane.js'
import type { Clock } from '../../platform/clock.js'
import { createPoller } from '../../platform/poller.js'
import type { LaneCommand, Store, StoredTransaction } from '../../types/store.js'
import type { Admission } from './admission.js'

type InboxContext = {
  readonly lane: Lane
  readonly store: Store
  readonly admission: Admission
  readonly closed: boolean
}

/** Reads the transactions and commands that other processes wrote to the store for the owner of the lane. */
export type Inbox = {
  /**
   * This process stored the transaction with this sequence number itself. If it is the next one, it need not
   * be read.
   */
  own(sequence: number): void
  stop(): void
}

const PAGE = 500
const LOOK_AGAIN_MS = 2_000

export function createInbox(
  context: InboxContext,
  options: {
    /** The highest sequence number that was read when the lane was opened. */
    readonly after: number
    /** Called before each read: the answer may be out of date by the time it is handled. */
    readonly asking: () => void
    readonly take: (stored: StoredTransaction) => Promise<void> | void
    readonly command: (id: string, command: LaneCommand) => void
    /** The commands up to this sequence number are done; the next write deletes them. */
    readonly done: { doneUpTo: number }
    readonly failed: (error: unknown) => void
    /** The clock for occasional polls, which must not keep the process alive. */
    readonly background: Clock
  },
): Inbox {
  const { store, lane, admission } = context
  let after = options.after
  const { done } = options
  const poller = createPoller({
    clock: () => options.background,
    everyMs: () => LOOK_AGAIN_MS,
    read,
    failed: options.failed,
  })
  // The highest sequence number in a notification of the store; infinity if a notification had none.
  let notifiedUpTo = 0
  let isWaiting = false
  const unwatch = store.watch(lane.key, (sequence = Number.POSITIVE_INFINITY) => {
    notifiedUpTo = Math.max(notifiedUpTo, sequence)
    const { keeping } = admission
    if (keeping === undefined) return lookIfNew()
    // Transactions that this process is storing itself are known as soon as the store has answered.
    if (isWaiting) return
    isWaiting = true
    void keeping.then(() => {
      isWaiting = false
      lookIfNew()
    })
  })

  function lookIfNew(): void {
    if (notifiedUpTo <= after) return
    notifiedUpTo = 0
    poller.pollNow()
  }

  async function read(): Promise<void> {
    while (!context.closed && (await page())) {}
  }

  /** Reads one page. True if there may be more. */
  async function page(): Promise<boolean> {
    options.asking()
    const { transactions, commands } = await store.arrivals(lane.key, after, PAGE)
    if (context.closed) return false
    for (const stored of transactions) await options.take(stored)
    for (const { id, command } of commands) options.command(id, command)
    done.doneUpTo = Math.max(done.doneUpTo, commands.at(-1)?.sequence ?? 0)
    after = Math.max(after, transactions.at(-1)?.sequence ?? 0, commands.at(-1)?.sequence ?? 0)
    return transactions.length + commands.length >= PAGE
  }

  poller.pollNow()
  return {
    own(sequence) {
      if (sequence === after + 1) after = sequence
    },
    stop() {
      unwatch()
      poller.stop()
    },
  }
}
