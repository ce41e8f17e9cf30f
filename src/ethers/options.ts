import { invalid } from '../errors/invalid.js'
import type { SendOptions } from '../types/index.js'

/**
 * The send options of a transaction: `SendOptions` without `until`, because a `TransactionResponse` needs a
 * hash, which does not exist before the transaction is signed.
 */
export type LaneSendOptions = Omit<SendOptions, 'until'>

/**
 * The lane's options in a request. ethers passes `customData` on unchanged, also from the overrides of a
 * call.
 */
export function optionsOf(customData: unknown): LaneSendOptions {
  const given = (customData as { txlane?: unknown } | null | undefined)?.txlane
  return given === undefined ? {} : checkOptions('tx.customData.txlane', given)
}

/** Checks only the form. Each send checks the fields. */
export function checkOptions(argument: string, options: unknown): LaneSendOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(argument, options, 'an object')
  const { until } = options as { until?: unknown }
  if (until !== undefined && until !== 'accepted')
    throw invalid(`${argument}.until`, until, 'nothing: ethers resolves with a hash')
  return options as LaneSendOptions
}
