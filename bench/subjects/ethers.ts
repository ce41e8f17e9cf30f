import { CHAIN_ID, transfer } from '../support/node.js'
import { type Driver, type Subject, sendEach } from './types.js'

/** `NonceManager` around a `Wallet`. Its provider posts what is asked for within 10 ms as one batch, by default. */
export const ethersDefault: Subject = {
  name: 'ethers NonceManager',
  given: 'nothing',
  async open({ privateKey, url }): Promise<Driver> {
    const { JsonRpcProvider, NonceManager, Wallet } = await import('ethers')
    const provider = new JsonRpcProvider(url, CHAIN_ID, { staticNetwork: true })
    const signer = new NonceManager(new Wallet(privateKey, provider))
    return {
      burst: (count) => sendEach(count, (number) => signer.sendTransaction(transfer(number))),
      close: async () => provider.destroy(),
    }
  },
}
