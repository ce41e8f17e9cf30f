import type { ChildProcess } from 'node:child_process'
import type { Hex } from 'viem'
import { forkBuilt } from '../../test/support/forkBuilt.js'
import { heard, letGo } from './children.js'
import type { Task } from './durableProcess.js'

export type Shared = { readonly url: string; readonly privateKey: Hex; readonly connectionString: string }

/** Two processes that share one key by way of PostgreSQL, ready to send. */
export async function startTwo(
  shared: Shared,
): Promise<AsyncDisposable & { burst(first: number, half: number): Promise<void> }> {
  const children: ChildProcess[] = []
  try {
    for (let started = 0; started < 2; started++) {
      const child = forkBuilt(new URL('durableProcess.ts', import.meta.url), [], {
        env: { ...process.env, TXLANE_BENCH_SHARED: JSON.stringify(shared) },
      })
      children.push(child)
      await heard(child)
    }
  } catch (error) {
    await letGo(children)
    throw error
  }
  return {
    async burst(first, half) {
      await Promise.all(
        children.map((child, index) => {
          const answer = heard(child)
          child.send({ first: first + index * half, count: half } satisfies Task)
          return answer
        }),
      )
    },
    [Symbol.asyncDispose]: () => letGo(children),
  }
}
