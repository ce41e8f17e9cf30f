import type { Counter } from './coverage.js'
import { LANE } from './outside.js'
import type { Plan } from './plan.js'
import { chance, deriveRandom } from './random.js'
import { createStubAccount } from './stubAccount.js'
import type { VirtualClock } from './virtualClock.js'

// The longest duration of a signature in a healed world.
const SLOW_MS = 300

/** The signer of a world, which may fail and be slow until the world heals. */
export function makeAccount(plan: Plan, clock: VirtualClock, healed: () => boolean, { strike }: Counter) {
  const random = deriveRandom(plan.seed, 'signer')
  const { failures, delayMsMax } = plan.signer
  return createStubAccount(LANE, {
    clock,
    delayMs() {
      if (delayMsMax === 0) return 0
      strike('signerSlow')
      return random() * (healed() ? Math.min(delayMsMax, SLOW_MS) : delayMsMax)
    },
    fails() {
      const fails = !healed() && chance(random, failures)
      if (fails) strike('signerFails')
      return fails
    },
  })
}
