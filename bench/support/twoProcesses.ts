import type { Hex } from 'viem'
import { type Child, disposeAll, startChild } from './children.js'
import type { Task } from './durableProcess.js'

export type Shared = { readonly url: string; readonly privateKey: Hex; readonly connectionString: string }

/** Two ready processes that share one key through PostgreSQL. */
export async function startTwo(
  shared: Shared,
): Promise<AsyncDisposable & { burst(first: number, half: number): Promise<void> }> {
  const env = { ...process.env, TXLANE_BENCH_SHARED: JSON.stringify(shared) }
  const children: Child[] = []
  try {
    for (let count = 0; count < 2; count++) {
      const child = startChild(new URL('durableProcess.ts', import.meta.url), [], { env })
      children.push(child)
      await child.started
    }
  } catch (error) {
    await disposeAll(children)
    throw error
  }
  return {
    async burst(first, half) {
      await Promise.all(
        children.map((child, index) =>
          child.ask({ first: first + index * half, count: half } satisfies Task),
        ),
      )
    },
    [Symbol.asyncDispose]: () => disposeAll(children),
  }
}
