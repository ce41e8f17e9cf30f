import type { View } from './chain/block.js'
import { createChain } from './chain/chain.js'
import type { SimChain } from './chain/simChain.js'
import { foreignTransaction } from './foreign.js'
import { LANE } from './outside.js'
import type { Plan } from './plan.js'
import { deriveRandom } from './random.js'
import type { VirtualClock } from './virtualClock.js'

const ONE_ETHER = 10n ** 18n
// Observed on geth 1.17.10 under load: one batch in fifty ended with a count that lacked some of it.
const POOL_LAG = 0.02

/** The chain of a world, with the lane's account and the transactions from before the lane opens. */
export function makeChain(plan: Plan, clock: VirtualClock, onView: (view: View) => void): SimChain {
  const { rules, blockTimeMs, pendingHash, baseFeeNoise, safeDepth, initialNonce, earlier, seed } = plan
  const chain = createChain({
    ...plan.pool,
    ...plan.fast,
    clock,
    onView,
    setBeat: clock.setQuietTimer,
    random: deriveRandom(seed, 'chain'),
    accounts: [{ address: LANE, nonce: initialNonce, balanceWei: ONE_ETHER }],
    rules,
    blockTimeMs,
    pendingHash,
    baseFeeNoise,
    safeDepth,
    poolLag: POOL_LAG,
  })
  for (let index = 0; index < earlier; index++)
    chain.submit(earlierTransaction(chain, initialNonce + index).raw)
  return chain
}

/** A transaction of a wallet with the same key from before the lane opened. Some pay too little for now. */
function earlierTransaction({ settings }: SimChain, nonce: number) {
  const { chainId, baseFeeWei, tipWei } = settings
  return foreignTransaction({
    chainId,
    from: LANE,
    nonce,
    maxFeeWei: baseFeeWei + tipWei,
    tipWei,
    salt: nonce,
  })
}
