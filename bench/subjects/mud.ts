import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { transfer } from '../support/node.js'
import { type Driver, type Subject, sendEach } from './types.js'

/**
 * The core of `writeContract` and `transactionQueue`: `createNonceManager`, a queue with concurrency one, and
 * fees that are refreshed every 10 s. The timer of the fees lives as long as the process.
 */
export const mudDefault: Subject = {
  name: '@latticexyz/common',
  given: 'nothing',
  async open({ url, chain, privateKey }): Promise<Driver> {
    const { sendTransaction } = await import('@latticexyz/common')
    const account = privateKeyToAccount(privateKey)
    const transport = http(url, { timeout: 180_000, retryCount: 0 })
    const client = createWalletClient({ account, chain, transport })
    const send = (number: number) => sendTransaction(client, transfer(number))
    return {
      async burst(count) {
        // Sent alone: concurrent first sends would each start their own fee refresh, with a timer that stays.
        await send(1)
        // The library queues concurrent sends itself.
        await sendEach(count - 1, (number) => send(number + 1), count)
      },
      close: async () => undefined,
    }
  },
}
