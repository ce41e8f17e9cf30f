import type { Provider } from 'ethers'
import type { Sender } from '../types/index.js'
import type { Landings } from './landings.js'
import { laneProvider } from './laneProvider.js'
import { checkChain } from './request.js'

/** What is done once for each provider, however many signers of the lane are made with it. */
export type Providers = {
  /** How a signer shows it. */
  viewOf(provider: Provider): Provider
  /**
   * A provider of another chain would read what the lane did not write. One that does not answer is asked again with
   * the next transaction, and keeps none: the lane has its own endpoints.
   *
   * @throws TxlaneError `CHAIN_MISMATCH`
   */
  check(view: Provider): Promise<void>
}

export function createProviders({ chain }: Sender, landings: Landings): Providers {
  const views = new WeakMap<Provider, Provider>()
  const checked = new WeakMap<Provider, Promise<void>>()
  return {
    viewOf(provider) {
      const view = views.get(provider) ?? laneProvider(provider, landings)
      views.set(provider, view)
      // What is a view already stays one.
      views.set(view, view)
      return view
    },
    check(view) {
      const known = checked.get(view)
      if (known !== undefined) return known
      const asked = view.getNetwork().then(
        ({ chainId }) => checkChain('provider', chainId, chain),
        () => void checked.delete(view),
      )
      checked.set(view, asked)
      return asked
    },
  }
}
