import type { LocalAccount } from 'viem'
import { NOBODY, signed, type Workbench } from '../tools/workbench.js'
import type { Refusal } from './refusal.js'

/** What delegating has used of the account: its own transaction and its tuple. */
const NEXT = 2

export const second: Refusal = {
  name: 'second of a delegated account',
  async provoke(bench) {
    const account = await delegatedAccount(bench)
    await bench.take(await bench.sign(account, { nonce: NEXT }))
    // By then the first is mined.
    return { signed: await bench.sign(account, { nonce: NEXT + 1 }), account, cure: async () => {} }
  },
}

export const gapped: Refusal = {
  name: 'gapped one of a delegated account',
  async provoke(bench) {
    const account = await delegatedAccount(bench)
    const cure = async () => bench.execute(await bench.sign(account, { nonce: NEXT }))
    return { signed: await bench.sign(account, { nonce: NEXT + 1 }), account, cure }
  },
}

async function delegatedAccount(bench: Workbench): Promise<LocalAccount> {
  const account = await bench.account()
  const { chainId, firstNonce } = bench
  const tuple = await account.signAuthorization?.({ chainId, contractAddress: NOBODY, nonce: firstNonce + 1 })
  if (tuple === undefined) throw new Error('the account signs no tuples')
  const { type: _, ...fields } = bench.transfer({ to: account.address, gas: 100_000n })
  await bench.execute(await signed(account, { type: 'eip7702', ...fields, authorizationList: [tuple] }))
  return account
}
