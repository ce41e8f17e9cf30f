import PQueue from 'p-queue'
import { type FairOptions, type FairQueueClass, fairQueueClass } from '../queue/fairQueue.js'
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
