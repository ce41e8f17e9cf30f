import { createWalletClient, http, publicActions } from 'viem'
import { nonceManager } from 'viem/accounts'
import type { Driver, Subject } from '../types.js'

const POLLING_MS = 50

/** `sendTransaction` with the nonce manager that viem exports, as its documentation shows it. */
export const viem: Subject = {
  name: 'viem',
  package: 'viem',
  offers: ['speedUp'],
  open({ account, chain, url }): Driver {
    const client = createWalletClient({
      account: { ...account, nonceManager },
      chain,
      transport: http(url),
      pollingInterval: POLLING_MS,
    }).extend(publicActions)
    return {
      async send(payment) {
        const hash = await client.sendTransaction(payment)
        return {
          hash,
          async wait() {
            const { transactionHash } = await client.waitForTransactionReceipt({ hash })
            return { hash: transactionHash }
          },
          async speedUp() {
            const { nonce, maxFeePerGas, maxPriorityFeePerGas } = await client.getTransaction({ hash })
            return client.sendTransaction({
              ...payment,
              nonce,
              maxFeePerGas: maxFeePerGas! * 2n,
              maxPriorityFeePerGas: maxPriorityFeePerGas! * 2n,
            })
          },
        }
      },
      close: async () => undefined,
    }
  },
}
