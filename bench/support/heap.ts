import { promisify } from 'node:util'

// Collections continue until the heap shrinks by less than this.
const STEADY_BYTES = 64 * 1_024

// A separate reference, because timer watchers replace the global.
const turn = promisify(setImmediate)

/**
 * Heap size after as many full collections as necessary: finalizers run in separate turns and release more.
 *
 * @throws Error without `--expose-gc`: a heap with garbage has no meaningful size
 */
export async function heapBytes(): Promise<number> {
  const collect = globalThis.gc
  if (collect === undefined) throw new Error('run node with --expose-gc.')
  for (let least = Number.POSITIVE_INFINITY; ; ) {
    collect()
    await turn()
    collect()
    const { heapUsed, external } = process.memoryUsage()
    if (heapUsed + external > least - STEADY_BYTES) return heapUsed + external
    least = heapUsed + external
  }
}
