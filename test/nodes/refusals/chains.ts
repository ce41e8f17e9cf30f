import { FEES, NOBODY, signed, TRANSFER_GAS } from '../tools/workbench.js'
import type { Refusal } from './refusal.js'

export const anotherChain: Refusal = {
  name: 'another chain',
  async provoke(bench) {
    const account = await bench.account()
    const one = await bench.sign(account, { chainId: bench.chainId + 1 })
    return { signed: one, account, free: 0 }
  },
}

/** Signed without a chain id, as before EIP-155. */
export const unprotected: Refusal = {
  name: 'unprotected',
  async provoke(bench) {
    const account = await bench.account()
    const fields = {
      to: NOBODY,
      value: 1n,
      nonce: bench.firstNonce,
      gas: TRANSFER_GAS,
      gasPrice: FEES.maxFeePerGas,
    }
    const one = await signed(account, { type: 'legacy', ...fields } as const)
    return { signed: one, account, free: 0 }
  },
}
