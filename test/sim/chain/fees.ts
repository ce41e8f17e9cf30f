import type { ChainSettings } from './options.js'

const ONE_WEI = 1n
const NOISE_STEPS = 1_000

/**
 * Moves an eighth of the way back to the usual fee (the most that EIP-1559 allows), with some random noise.
 */
export function nextBaseFee(baseFeeWei: bigint, settings: ChainSettings): bigint {
  const { baseFeeWei: home, baseFeeNoise, random } = settings
  let next = baseFeeWei + (home - baseFeeWei) / 8n
  if (baseFeeNoise > 0) {
    const steps = Math.round((random() * 2 - 1) * baseFeeNoise * NOISE_STEPS)
    next += (next * BigInt(steps)) / BigInt(NOISE_STEPS)
  }
  return next < ONE_WEI ? ONE_WEI : next
}
