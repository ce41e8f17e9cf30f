/** After a full collection. @throws Error without `--expose-gc`: a heap with garbage in it says nothing. */
export function heapBytes(): number {
  const collect = globalThis.gc
  if (collect === undefined) throw new Error('run node with --expose-gc.')
  // Once more for what the finalizers of the first let go of.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
