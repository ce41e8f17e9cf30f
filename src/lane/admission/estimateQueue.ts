import PQueue, { type Queue, type QueueAddOptions } from 'p-queue'
import { createPendingQueue, type QueueEntry } from '../queue/pendingQueue.js'
import type { Transaction } from '../transaction/transaction.js'

/** Runs estimates, at most `concurrency` at a time, in the fair order of a `PendingQueue`. */
export function createEstimateQueue(
  concurrency: number,
  weightOf: (group: string | undefined) => number,
  run: (transaction: Transaction) => Promise<void> | undefined,
): (transaction: Transaction) => void {
  // Created with the first estimate, so that an idle lane costs nothing.
  let queue: PQueue<InstanceType<FairQueueClass>, FairOptions> | undefined

  return (transaction) => {
    const { priority, group } = transaction
    queue ??= new PQueue({ concurrency, queueClass: fairQueueClass(weightOf) })
    void queue.add(async () => run(transaction), { priority, group })
  }
}

type Run = () => Promise<unknown>
type Entry = QueueEntry & { readonly run: Run }
type FairOptions = QueueAddOptions & Pick<QueueEntry, 'group'>

/**
 * Queue class for p-queue that orders entries like a `PendingQueue`, so that the estimates of one group do
 * not delay those of another.
 */
type FairQueueClass = new () => Queue<Run, FairOptions>

function fairQueueClass(weightOf: (group: string | undefined) => number): FairQueueClass {
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
