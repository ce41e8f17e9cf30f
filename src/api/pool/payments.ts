import type { Member } from '../sender/member.js'
import { poolRuntime } from './poolRuntime.js'
import type { createTreasury, Treasury } from './treasury.js'

/** The payments of a treasury, whose code is loaded when the first of them may be due. */
export type Payments = Treasury & {
  /** From now on accounts are looked at. May be called again and again. */
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

  /** Where it cannot be loaded, neither can the lanes: whoever opens one is told, and the next start tries anew. */
  const unloaded = () => {
    loading = undefined
  }

  return {
    start() {
      if (loading !== undefined || stopped) return
      loading = load()
      loading.catch(unloaded)
    },
    look: () => void loading?.then((treasury) => treasury.look(), unloaded),
    stop() {
      stopped = true
      loading?.then((treasury) => treasury.stop(), unloaded)
    },
  }
}
