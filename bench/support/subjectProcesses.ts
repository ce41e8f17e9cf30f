import type { Hex } from 'viem'
import { SUBJECTS } from '../subjects/index.js'
import type { Subject } from '../subjects/types.js'
import { type Child, disposeAll, startChild } from './children.js'

export type Burst = { readonly url: string; readonly privateKey: Hex; readonly count: number }

/**
 * Each subject in a process of its own, for as long as it is measured: in one process each would run in the heap that
 * the others have left, and with its own code thrown out of the engine by the time that its turn comes again.
 */
export type SubjectProcesses = AsyncDisposable & {
  /** Milliseconds from the first send to the last acceptance. The sender stays open until the next one is. */
  burst(subject: Subject, burst: Burst): Promise<number>
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

  return {
    burst: async (subject, order) => (await children.get(subject)?.ask(order)) as number,
    async restart(subject) {
      await children.get(subject)?.kill()
      await start(subject)
    },
    [Symbol.asyncDispose]: stop,
  }
}
