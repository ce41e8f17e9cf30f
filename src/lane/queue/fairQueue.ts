import type { Queue, QueueAddOptions } from 'p-queue'
import { createPendingQueue } from './pendingQueue.js'
import type { QueueEntry } from './rank.js'

type Run = () => Promise<unknown>
type Entry = QueueEntry & { readonly run: Run }
export type FairOptions = QueueAddOptions & Pick<QueueEntry, 'group'>

/**
 * Queue class for p-queue that orders entries like a `PendingQueue`, so that the estimates of one group do
 * not delay those of another.
 */
export type FairQueueClass = new () => Queue<Run, FairOptions>

export function fairQueueClass(weightOf: (group: string | undefined) => number): FairQueueClass {
  return class implements Queue<Run, FairOptions> {
    private readonly queue = createPendingQueue<Entry>(weightOf)
    private sequence = 0

    get size(): number {
      return this.queue.size
    }

    enqueue(run: Run, { priority = 0, group }: Partial<FairOptions> = {}): void {
      this.queue.add({ run, priority, group, sequence: this.sequence++ })
    }

    dequeue(): Run | undefined {
      return this.queue.shift()?.run
    }

    filter({ priority = 0 }: Readonly<Partial<FairOptions>>): Run[] {
      return [...this.queue].filter((one) => one.priority === priority).map(({ run }) => run)
    }

    /** Entries have no ids, so there is no entry to find. */
    setPriority(): void {}
  }
}
