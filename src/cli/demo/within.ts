import type { Clock } from '../../platform/clock.js'

/**
 * What the work resolves with, or `late` when that takes longer than `timeMs`. Work that is late goes on, and how it
 * ends is of no consequence any more.
 */
export async function within<t>(clock: Clock, timeMs: number, work: Promise<t>): Promise<t | 'late'> {
  let cancel = () => {}
  const late = new Promise<'late'>((resolve) => {
    cancel = clock.setTimer(() => resolve('late'), timeMs)
  })
  work.catch(() => undefined)
  return Promise.race([work, late]).finally(cancel)
}
