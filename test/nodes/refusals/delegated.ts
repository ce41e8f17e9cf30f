import type { LocalAccount, TransactionSerializableEIP7702 } from 'viem'
import { NOBODY, signed, type Workbench } from '../tools/workbench.js'
import type { Refusal } from './refusal.js'

/** The next nonce after delegating, which used one for the transaction and one for the tuple. */
const NEXT = 2

export const second: Refusal = {
  name: 'second of a delegated account',
  async provoke(bench) {
    const account = await delegatedAccount(bench)
    await bench.take(await bench.sign(account, { nonce: NEXT }))
    // By then the first one is mined.
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

/** A tuple of an account with two stuck transactions in the pool. */
export const reserved: Refusal = {
  name: 'delegation of a reserved account',
  async provoke(bench) {
    const stuck = await bench.account()
    for (const nonce of [2, 3]) await bench.take(await bench.sign(stuck, { nonce }))
    const account = await bench.account()
    const delegates = await delegation(bench, { account, authority: stuck, nonce: bench.firstNonce })
    const cure = async () => {
      for (const nonce of [0, 1]) await bench.execute(await bench.sign(stuck, { nonce }))
    }
    return { signed: await signed(account, delegates), account, cure }
  },
}

async function delegatedAccount(bench: Workbench): Promise<LocalAccount> {
  const account = await bench.account()
  const delegates = await delegation(bench, { account, authority: account, nonce: bench.firstNonce + 1 })
  await bench.execute(await signed(account, delegates))
  return account
}

/** The first transaction of `account`, with a tuple of `authority` at this nonce. */
async function delegation(
  bench: Workbench,
  given: { readonly account: LocalAccount; readonly authority: LocalAccount; readonly nonce: number },
): Promise<TransactionSerializableEIP7702> {
  const { account, authority, nonce } = given
  const { chainId } = bench
  const tuple = await authority.signAuthorization?.({ chainId, contractAddress: NOBODY, nonce })
  if (tuple === undefined) throw new Error('the account signs no tuples')
  const { type: _, ...fields } = bench.transfer({ to: account.address, gas: 100_000n })
  return { type: 'eip7702', ...fields, authorizationList: [tuple] }
}
