import type { Address, Hex, LocalAccount } from 'viem'
import { invalid } from '../../src/errors/invalid.js'
import type { ForeignTx } from './devnet.js'
import { readAccountStates } from './pool/accountStates.js'
import type { AnvilRpc } from './rpc/anvilRpc.js'
import { decodeTx } from './rpc/decode.js'

export type Foreign = {
  /**
   * Signs a transaction for the `foreign` fault; undefined for an account whose key the devnet does not have.
   */
  sign(from: Address, nonce: number): Promise<Hex | undefined>
  /** For the handle: returns the signed bytes, the sender and the hash. */
  prepare(transaction: ForeignTx): Promise<{ raw: Hex; from: Address; hash: Hex }>
}

// Far above the fees of tests, so that it also wins under anvil's rules, which compare fees only.
const TIP_WEI = 500_000_000_000n

/** Signs transactions of another holder of the same key: a second process, a wallet or an attacker. */
export function createForeign(options: {
  readonly rpc: AnvilRpc
  readonly chainId: number
  readonly accounts: readonly LocalAccount[]
}): Foreign {
  const byAddress = new Map(options.accounts.map((account) => [account.address.toLowerCase(), account]))

  function signWith(account: LocalAccount, nonce: number, fields: Omit<ForeignTx, 'account' | 'nonce'>) {
    return account.signTransaction({
      type: 'eip1559',
      chainId: options.chainId,
      nonce,
      to: fields.to === undefined ? account.address : fields.to,
      value: fields.value ?? 0n,
      ...(fields.data === undefined ? {} : { data: fields.data }),
      gas: fields.gas ?? 21_000n,
      maxFeePerGas: fields.maxFeePerGas ?? TIP_WEI * 2n,
      maxPriorityFeePerGas: fields.maxPriorityFeePerGas ?? fields.maxFeePerGas ?? TIP_WEI,
    })
  }

  return {
    async sign(from, nonce) {
      const account = byAddress.get(from.toLowerCase())
      return account && signWith(account, nonce, {})
    },
    async prepare({ account: given, nonce, ...fields }) {
      const address = (typeof given === 'string' ? given : given.address).toLowerCase() as Address
      const account = byAddress.get(address)
      if (account === undefined) throw invalid('account', address, "one of the devnet's accounts")
      const state = (await readAccountStates(options.rpc, [address])).get(address)
      const raw = await signWith(account, nonce ?? state?.nonce ?? 0, fields)
      return { raw, from: address, hash: decodeTx(raw)!.hash }
    },
  }
}
