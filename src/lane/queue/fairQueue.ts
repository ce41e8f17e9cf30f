import type { Queue, QueueAddOptions } from 'p-queue'
import { createLine } from './pendingQueue.js'
import type { LineEntry } from './rank.js'

type Run = () => Promise<unknown>
type Entry = LineEntry & { readonly run: Run }
export type FairOptions = QueueAddOptions & Pick<LineEntry, 'group'>

/** The queue of a p-queue, in the order of a `Line`: the questions of one group do not hold up another. */
export type FairQueueClass = new () => Queue<Run, FairOptions>

export function fairQueueClass(weightOf: (group: string | undefined) => number): FairQueueClass {
  return class implements Queue<Run, FairOptions> {
    private readonly line = createLine<Entry>(weightOf)
    private sequence = 0

    get size(): number {
      return this.line.size
    }

    enqueue(run: Run, { priority = 0, group }: Partial<FairOptions> = {}): void {
      this.line.add({ run, priority, group, sequence: this.sequence++ })
    }

    dequeue(): Run | undefined {
      return this.line.shift()?.run
    }

    filter({ priority = 0 }: Readonly<Partial<FairOptions>>): Run[] {
      return [...this.line].filter((one) => one.priority === priority).map(({ run }) => run)
    }

    /** Nothing here has an id of its own. */
    setPriority(): void {}
  }
}
