import type { Member } from '../sender/member.js'
import { poolRuntime } from './poolRuntime.js'
import type { createTreasury, Treasury } from './treasury.js'

/** The payments of a treasury. Their code is loaded when the first payment may be due. */
export type Payments = Treasury & {
  /** Starts to watch the balances of the accounts. Further calls do nothing. */
  start(): void
}

export function createPayments(
  parts: Parameters<typeof createTreasury>[0] & { readonly member: Pick<Member, 'runtime'> },
): Payments {
  let loading: Promise<Treasury> | undefined
  let stopped = false

  async function load(): Promise<Treasury> {
    const { createTreasury } = await poolRuntime(parts.member)
    const treasury = createTreasury(parts)
    if (stopped) treasury.stop()
    return treasury
  }

  /**
   * If this code cannot be loaded, neither can the lanes: the caller that opens a lane gets the error. The next start
   * retries.
   */
  const unloaded = () => {
    loading = undefined
  }

  return {
    start() {
      if (loading !== undefined || stopped) return
      loading = load()
      loading.catch(unloaded)
    },
    checkSoon: () => void loading?.then((treasury) => treasury.checkSoon(), unloaded),
    stop() {
      stopped = true
      loading?.then((treasury) => treasury.stop(), unloaded)
    },
  }
}
