import type { Hex } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import { within } from '../../test/demo/within.js'
import { SUBJECTS } from '../subjects/index.js'
import type { Subject } from '../subjects/types.js'
import { type Child, disposeAll, startChild } from './children.js'
import type { ChainFacts } from './node.js'

export type World = {
  readonly url: string
  readonly privateKey: Hex
  /** Total number of transfers. */
  readonly count: number
  /** @default anvil's */
  readonly chain?: ChainFacts
  /** Whether to skip all preparation before the first send. @default false */
  readonly cold?: boolean
}

export type Opening = World & { readonly type: 'open' }
export type BurstOrder = {
  readonly type: 'burst'
  readonly count: number
  /** Measures the delay of timers in the process, while the transfers are sent in parts. @default false */
  readonly watchLoop?: boolean
}
export type Order = Opening | BurstOrder | { readonly type: 'close' }

export type Sent = {
  /** From the first send to the last acceptance. */
  readonly ms: number
  readonly delayP99Ms?: number
  readonly delayMsMax?: number
}

const CLOSE_LIMIT_MS = 5_000

/**
 * Each subject runs in its own process for the whole measurement. In a shared process it would inherit the
 * heap of the others, and V8 would have discarded its code before its next turn.
 */
export type SubjectProcesses = AsyncDisposable & {
  /** Opens a sender and waits until it is ready. The previous sender is closed then. */
  open(subject: Subject, world: World): Promise<void>
  burst(subject: Subject, order: Omit<BurstOrder, 'type'>): Promise<Sent>
  /** Closes the sender. A process that takes too long is replaced. */
  close(subject: Subject): Promise<void>
  /** Ends the process at once, and starts another. */
  restart(subject: Subject): Promise<void>
}

export async function startSubjects(subjects: readonly Subject[]): Promise<SubjectProcesses> {
  const children = new Map<Subject, Child>()
  const stop = () => disposeAll(children.values())
  try {
    for (const subject of subjects) await start(subject)
  } catch (error) {
    await stop()
    throw error
  }

  async function start(subject: Subject): Promise<void> {
    const place = SUBJECTS.indexOf(subject)
    const child = startChild(new URL('subjectProcess.ts', import.meta.url), [String(place)])
    children.set(subject, child)
    await child.started
  }

  async function restart(subject: Subject): Promise<void> {
    await children.get(subject)?.kill()
    await start(subject)
  }

  const ask = async (subject: Subject, order: Order) => children.get(subject)?.ask(order)
  return {
    async open(subject, world) {
      await ask(subject, { type: 'open', ...world })
    },
    burst: async (subject, order) => (await ask(subject, { type: 'burst', ...order })) as Sent,
    async close(subject) {
      const closed = ask(subject, { type: 'close' })
      if ((await within(systemClock, CLOSE_LIMIT_MS, closed)) === 'late') await restart(subject)
    },
    restart,
    [Symbol.asyncDispose]: stop,
  }
}
