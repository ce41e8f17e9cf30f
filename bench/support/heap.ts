import { promisify } from 'node:util'

// What a collection has let go of by then, an allocation of this size is lost in.
const STEADY_BYTES = 64 * 1_024

// Of its own: whoever watches for timers puts others in their places.
const turn = promisify(setImmediate)

/**
 * After full collections, as many as it takes: finalizers run in turns of their own, and let go of more.
 *
 * @throws Error without `--expose-gc`: a heap with garbage in it says nothing
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
