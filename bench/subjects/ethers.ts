import { givenTransfer, transfer } from '../support/node.js'
import { type Driver, type Subject, sendEach } from './types.js'

/** `NonceManager` around a `Wallet`. By default its provider batches the calls of 10 ms. */
function ethers(given: Subject['given'], request: (number: number) => ReturnType<typeof transfer>): Subject {
  return {
    name: 'ethers NonceManager',
    given,
    async open({ privateKey, url, chain }): Promise<Driver> {
      const { JsonRpcProvider, NonceManager, Wallet } = await import('ethers')
      const provider = new JsonRpcProvider(url, chain.id, { staticNetwork: true })
      const signer = new NonceManager(new Wallet(privateKey, provider))
      return {
        burst: (count) => sendEach(count, (number) => signer.sendTransaction(request(number))),
        close: async () => provider.destroy(),
      }
    },
  }
}

export const ethersDefault = ethers('nothing', transfer)
export const ethersGiven = ethers('gasAndFees', (number) => {
  const { gas, ...rest } = givenTransfer(number)
  return { ...rest, gasLimit: gas, type: 2 }
})
