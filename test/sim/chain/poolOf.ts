import type { AdmissionLimits } from './admission.js'
import { createGethSimPool } from './gethPool.js'
import type { ChainSettings } from './options.js'
import { createPool, type Pool } from './pool.js'
import type { State } from './state.js'

// geth accepts 128 KiB (core/txpool, txMaxSize). Smaller here, so that oversized data is quickly made.
const BYTES_MAX = 4_096
const DELEGATED_MAX_BASE = 4

/** geth's pool if no rule of another client is requested; else one modelled on reth's. */
export function createPoolOf(settings: ChainSettings, state: State, baseFeeWei: () => bigint): Pool {
  const { rules, gasLimit, replacement, nonceAheadMax, tipStated } = settings
  const { chainId, transactionGasMax, tipWeiMin } = settings
  const limits: AdmissionLimits = {
    chainId,
    transactionGasMax,
    gasLimitMax: gasLimit,
    tipWeiMin,
    tipStated,
    bytesMax: BYTES_MAX,
  }
  const isOther = replacement !== 'bothFees' || nonceAheadMax !== Number.POSITIVE_INFINITY || !tipStated
  if ((rules === 'geth' || rules === 'latest') && !isOther) {
    return createGethSimPool({ ...settings, limits, state })
  }
  return createPool({
    ...limits,
    nonceAheadMax,
    executableMax: settings.executableMax,
    gappedMax: settings.gappedMax,
    delegatedMax: rules === 'base' ? DELEGATED_MAX_BASE : 1,
    priceAt: replacement === 'effectivePrice' ? baseFeeWei : undefined,
  })
}
