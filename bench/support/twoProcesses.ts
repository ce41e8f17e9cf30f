import type { ChildProcess } from 'node:child_process'
import type { Hex } from 'viem'
import { forkBuilt } from '../../test/support/forkBuilt.js'
import type { Said, Task } from './durableProcess.js'

export type Shared = { readonly url: string; readonly privateKey: Hex; readonly connectionString: string }

/** Two processes that share one key by way of PostgreSQL, ready to send. */
export async function startTwo(
  shared: Shared,
): Promise<AsyncDisposable & { burst(first: number, half: number): Promise<void> }> {
  const children: ChildProcess[] = []
  async function stop(): Promise<void> {
    const ends = children.map(ended)
    for (const child of children) if (child.connected) child.disconnect()
    await Promise.all(ends)
  }
  try {
    for (let started = 0; started < 2; started++) {
      const child = forkBuilt(new URL('durableProcess.ts', import.meta.url), [], {
        env: { ...process.env, TXLANE_BENCH_SHARED: JSON.stringify(shared) },
      })
      children.push(child)
      await heard(child)
    }
  } catch (error) {
    await stop()
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
    [Symbol.asyncDispose]: stop,
  }
}

/** @throws Error when the process failed or ended */
function heard(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null) => reject(new Error(`a process ended with ${code}`))
    child.once('exit', end)
    child.once('message', (said: Said) => {
      child.removeListener('exit', end)
      if (said.type === 'done') resolve()
      else reject(new Error(said.why))
    })
  })
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}
