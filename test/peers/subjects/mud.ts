import { transactionQueue } from '@latticexyz/common/actions'
import { createWalletClient, http, publicActions } from 'viem'
import type { Driver, Subject } from '../types.js'

const POLLING_MS = 50

/** MUD's `transactionQueue`, which is based on its `createNonceManager`. It cannot replace a transaction. */
export const mud: Subject = {
  name: 'mud',
  package: '@latticexyz/common',
  offers: [],
  open({ account, chain, url }): Driver {
    const base = { account, chain, transport: http(url), pollingInterval: POLLING_MS }
    const reader = createWalletClient(base).extend(publicActions)
    const client = createWalletClient(base).extend(transactionQueue())
    return {
      async send(payment) {
        const hash = await client.sendTransaction(payment)
        return {
          hash,
          async wait() {
            const { transactionHash } = await reader.waitForTransactionReceipt({ hash })
            return { hash: transactionHash }
          },
        }
      },
      close: async () => undefined,
    }
  },
}
