import type { ChildProcess } from 'node:child_process'
import type { Hex } from 'viem'
import { forkBuilt } from '../../test/support/forkBuilt.js'
import { SUBJECTS } from '../subjects/index.js'
import type { Subject } from '../subjects/types.js'
import { heard, letGo } from './children.js'
import type { Order } from './subjectProcess.js'

export type Burst = { readonly url: string; readonly privateKey: Hex; readonly count: number }

/**
 * Each subject in a process of its own, for as long as it is measured: in one process each would run in the heap that
 * the others have left, and with its own code thrown out of the engine by the time that its turn comes again.
 */
export type SubjectProcesses = AsyncDisposable & {
  /** Milliseconds from the first send to the last acceptance. The sender stays open until the next one is. */
  burst(subject: Subject, burst: Burst): Promise<number>
  /** Closes at once what the last burst has left open. */
  close(subject: Subject): Promise<void>
}

export async function startSubjects(subjects: readonly Subject[]): Promise<SubjectProcesses> {
  const children = new Map<Subject, ChildProcess>()
  const stop = () => letGo([...children.values()])
  try {
    for (const subject of subjects) {
      const place = SUBJECTS.indexOf(subject)
      const child = forkBuilt(new URL('subjectProcess.ts', import.meta.url), [String(place)])
      children.set(subject, child)
      await heard(child)
    }
  } catch (error) {
    await stop()
    throw error
  }
  function told<value>(subject: Subject, order: Order): Promise<value> {
    const child = children.get(subject) as ChildProcess
    const answer = heard<value>(child)
    child.send(order)
    return answer
  }
  return {
    burst: (subject, burst) => told<number>(subject, { type: 'burst', ...burst }),
    close: (subject) => told(subject, { type: 'close' }),
    [Symbol.asyncDispose]: stop,
  }
}
