import type { Hex } from 'viem'
import { within } from '../../src/cli/demo/within.js'
import { systemClock } from '../../src/platform/clock.js'
import { SUBJECTS } from '../subjects/index.js'
import type { Subject } from '../subjects/types.js'
import { type Child, disposeAll, startChild } from './children.js'
import type { ChainFacts } from './node.js'

export type World = {
  readonly url: string
  readonly privateKey: Hex
  /** How many will be asked for. */
  readonly count: number
  /** @default anvil's */
  readonly chain?: ChainFacts
  /** Nothing is done before the first send. @default false */
  readonly cold?: boolean
}

export type Opening = World & { readonly type: 'open' }
export type BurstOrder = {
  readonly type: 'burst'
  readonly count: number
  /** Measures by how much the process is late for a timer, while the transfers are asked for in parts. @default false */
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
 * Each subject in a process of its own, for as long as it is measured: in one process each would run in the heap that
 * the others have left, and with its own code thrown out of the engine by the time that its turn comes again.
 */
export type SubjectProcesses = AsyncDisposable & {
  /** A sender that is ready. The one before is closed then. */
  open(subject: Subject, world: World): Promise<void>
  burst(subject: Subject, order: Omit<BurstOrder, 'type'>): Promise<Sent>
  /** Its sender. A process that takes too long for that is ended, and another started. */
  close(subject: Subject): Promise<void>
  /** Ends its process, whatever it is at, and starts another. */
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
