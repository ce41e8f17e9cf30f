import type { Provider } from 'ethers'
import type { Sender } from '../types/index.js'
import type { Landings } from './landings.js'
import { laneProvider } from './laneProvider.js'
import { checkChain } from './request.js'

/** State per provider, shared by all signers of the lane that use it. */
export type Providers = {
  /** The view of a provider that a signer shows. */
  viewOf(provider: Provider): Provider
  /**
   * Checks the chain of a provider, because a provider on another chain would not see the lane's
   * transactions. If it does not answer, it is asked again with the next transaction. It delays none, because
   * the lane has its own endpoints.
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
      // The view of a view is the view itself.
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
