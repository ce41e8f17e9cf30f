import { invalid } from '../errors/invalid.js'
import type { SendOptions } from '../types/index.js'

/**
 * How a lane is to treat a transaction: `SendOptions` without `until`, since a `TransactionResponse` has a hash, and
 * there is none before the transaction was signed.
 */
export type LaneSendOptions = Omit<SendOptions, 'until'>

/** What a request carries for the lane: ethers hands `customData` on as it is, out of the overrides of a call as well. */
export function optionsOf(customData: unknown): LaneSendOptions {
  const given = (customData as { txlane?: unknown } | null | undefined)?.txlane
  return given === undefined ? {} : checkOptions('tx.customData.txlane', given)
}

/** Its fields are checked with each send. */
export function checkOptions(argument: string, options: unknown): LaneSendOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(argument, options, 'an object')
  const { until } = options as { until?: unknown }
  if (until !== undefined && until !== 'accepted')
    throw invalid(`${argument}.until`, until, 'nothing: ethers resolves with a hash')
  return options as LaneSendOptions
}
