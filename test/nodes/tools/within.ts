import { systemClock } from '../../../src/platform/clock.js'

/** @throws Error if it takes longer; the awaited work continues */
export async function within<t>(limitMs: number, what: string, promise: Promise<t>): Promise<t> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    const report = () => reject(new Error(`${what} did not come within ${limitMs / 1_000} s`))
    cancel = systemClock.setTimer(report, limitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    cancel()
  }
}
