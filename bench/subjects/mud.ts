import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { transfer } from '../support/node.js'
import { type Driver, type Subject, sendEach } from './types.js'

/**
 * What its `writeContract` and `transactionQueue` stand on: `createNonceManager`, a queue of one, and fees that are
 * looked up every 10 s. The timer of those lives as long as the process.
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
        // Asked for at once, each of the first would set up a look-up of fees of its own, with a timer that stays.
        await send(1)
        // Queued on its side, whatever is asked for at once.
        await sendEach(count - 1, (number) => send(number + 1), count)
      },
      close: async () => undefined,
    }
  },
}
