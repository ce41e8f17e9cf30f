import { JsonRpcProvider, NonceManager, Wallet } from 'ethers'
import type { Driver, Payment, Subject } from '../types.js'

const POLLING_MS = 50
// A twelfth of its default, in proportion to the block time here.
const CACHE_MS = 20

/** `NonceManager` around a `Wallet`. */
export const ethers: Subject = {
  name: 'ethers',
  package: 'ethers',
  offers: ['speedUp'],
  open({ privateKey, chain, url }): Driver {
    const provider = new JsonRpcProvider(url, chain.id, {
      staticNetwork: true,
      pollingInterval: POLLING_MS,
      cacheTimeout: CACHE_MS,
    })
    const wallet = new Wallet(privateKey, provider)
    const signer = new NonceManager(wallet)
    return {
      async send(payment) {
        const response = await signer.sendTransaction(requestOf(payment))
        return {
          hash: response.hash as `0x${string}`,
          async wait() {
            const receipt = await response.wait()
            return { hash: receipt!.hash as `0x${string}` }
          },
          speedUp: () =>
            wallet.sendTransaction({
              ...requestOf(payment),
              nonce: response.nonce,
              maxFeePerGas: response.maxFeePerGas! * 2n,
              maxPriorityFeePerGas: response.maxPriorityFeePerGas! * 2n,
            }),
        }
      },
      close: async () => provider.destroy(),
    }
  },
}

function requestOf({ gas, ...payment }: Payment) {
  return gas === undefined ? payment : { ...payment, gasLimit: gas }
}
