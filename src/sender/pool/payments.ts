import type { Address } from 'viem'
import type { Member } from '../member.js'
import type { Treasury } from './treasury.js'
import type { TreasuryPolicy } from './treasuryOptions.js'

/** The payments of a treasury, whose code is loaded when the first of them may be due. */
export function createPayments(parts: {
  readonly member: Member
  readonly options: TreasuryPolicy
  readonly addresses: () => readonly Address[]
}): Treasury {
  let loading: Promise<Treasury> | undefined
  let stopped = false

  async function load(): Promise<Treasury> {
    const { createTreasury } = await parts.member.machinery()
    const treasury = createTreasury(parts)
    if (!stopped) treasury.start()
    return treasury
  }

  const then = (what: (treasury: Treasury) => void) => void loading?.then(what, () => {})

  return {
    start() {
      // Where it cannot be loaded, neither can the lanes: whoever opens one is told, and the next call tries anew.
      loading ??= load().catch((error: unknown) => {
        loading = undefined
        throw error
      })
      then(() => {})
    },
    look: () => then((treasury) => treasury.look()),
    stop() {
      stopped = true
      then((treasury) => treasury.stop())
    },
  }
}
