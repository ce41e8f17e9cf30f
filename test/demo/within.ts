import type { Clock } from '../../src/platform/clock.js'

/**
 * Resolves to the result of the work, or to `late` if it takes longer than `timeMs`. Late work continues, and
 * its result is ignored.
 */
export async function within<t>(clock: Clock, timeMs: number, work: Promise<t>): Promise<t | 'late'> {
  let cancel = () => {}
  const late = new Promise<'late'>((resolve) => {
    cancel = clock.setTimer(() => resolve('late'), timeMs)
  })
  work.catch(() => undefined)
  return Promise.race([work, late]).finally(cancel)
}
