import type { LocalAccount, TransactionSerializableEIP7702 } from 'viem'
import { FEES, NOBODY, signed, type Workbench } from '../tools/workbench.js'
import type { RefusalName } from './names.js'
import type { Refusal } from './refusal.js'

export const tooLow: Refusal = {
  name: 'nonce too low',
  async provoke(bench) {
    const account = await bench.account()
    for (const nonce of [0, 1]) await bench.execute(await bench.sign(account, { nonce }))
    return { signed: await bench.sign(account, { nonce: 1, value: 2n }), account }
  },
}

export const gap: Refusal = {
  name: 'gap of 5',
  async provoke(bench) {
    const account = await bench.account()
    const cure = () => takeAll(bench, account, [0, 1, 2, 3, 4])
    return { signed: await bench.sign(account, { nonce: 5 }), account, cure }
  },
}

export const gapBehindOthers: Refusal = {
  name: 'gap behind 64 others',
  async provoke(bench) {
    const account = await bench.account()
    const others = Array.from({ length: 64 }, (_, index) => index + 1)
    await takeAll(bench, account, others)
    // If the other transactions were refused too, they are sent again.
    const cure = async () => {
      await takeAll(bench, account, [0])
      for (const nonce of others) await bench.send((await bench.sign(account, { nonce })).raw)
    }
    return { signed: await bench.sign(account, { nonce: 65 }), account, cure }
  },
}

async function takeAll(bench: Workbench, account: LocalAccount, nonces: readonly number[]): Promise<void> {
  for (const nonce of nonces) await bench.take(await bench.sign(account, { nonce }))
}

const raised = (percent: bigint) => ({
  maxFeePerGas: (FEES.maxFeePerGas * (100n + percent)) / 100n,
  maxPriorityFeePerGas: (FEES.maxPriorityFeePerGas * (100n + percent)) / 100n,
})

const replacement = (name: RefusalName, percent: bigint): Refusal => ({
  name,
  async provoke(bench) {
    const account = await bench.account()
    const rival = await bench.sign(account)
    await bench.take(rival)
    return { signed: await bench.sign(account, { value: 2n, ...raised(percent) }), account, rival }
  },
})

export const replacements: readonly Refusal[] = [
  replacement('replacement at +1 %', 1n),
  replacement('replacement at +9 %', 9n),
  replacement('replacement at +10 %', 10n),
]

export const samePending: Refusal = {
  name: 'same bytes, pending',
  async provoke(bench) {
    const account = await bench.account()
    const signed = await bench.sign(account)
    await bench.take(signed)
    return { signed, account }
  },
}

/** Uses the second nonce, because Ganache executes the same bytes at the first one again. */
export const sameMined: Refusal = {
  name: 'same bytes, mined',
  async provoke(bench) {
    const account = await bench.account()
    await bench.execute(await bench.sign(account))
    const signed = await bench.sign(account, { nonce: 1 })
    await bench.execute(signed)
    return { signed, account }
  },
}

/** The number of transactions in the pool of a `smallPool` node. */
const OTHERS = 8

export const fullPool: Refusal = {
  name: 'full pool',
  needs: 'smallPool',
  async provoke(bench) {
    const accounts = []
    for (let made = 0; made <= OTHERS; made++) accounts.push(await bench.account())
    const [last, ...others] = accounts as [(typeof accounts)[0], ...typeof accounts]
    for (const account of others) await bench.take(await bench.sign(account))
    const cheaper = {
      maxFeePerGas: FEES.maxFeePerGas / 2n,
      maxPriorityFeePerGas: FEES.maxPriorityFeePerGas / 2n,
    }
    // By then the other transactions are in blocks.
    return { signed: await bench.sign(last, cheaper), account: last, cure: async () => {} }
  },
}

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
