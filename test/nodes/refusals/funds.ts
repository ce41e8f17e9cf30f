import { parseEther } from 'viem'
import { fund } from '../tools/accounts.js'
import type { Refusal } from './refusal.js'

const ETHER = parseEther('1')

export const noFunds: Refusal = {
  name: 'no funds',
  async provoke(bench) {
    const account = await bench.account(0n)
    const cure = () => fund(bench.running, account.address, ETHER)
    return { signed: await bench.sign(account), account, cure }
  },
}

/** The account can pay either of the two, but not both. */
export const noFundsForSecond: Refusal = {
  name: 'no funds for the second',
  // It may keep the node from making blocks.
  needs: 'fresh',
  async provoke(bench) {
    const account = await bench.account((ETHER * 3n) / 2n)
    await bench.take(await bench.sign(account, { value: ETHER }))
    // Funds both, because the node may not have mined the first one either.
    const cure = () => fund(bench.running, account.address, 3n * ETHER)
    return { signed: await bench.sign(account, { nonce: 1, value: ETHER }), account, cure }
  },
}
