import type { Address, LocalAccount } from 'viem'
import { createStubAccount } from '../sim/stubAccount.js'
import type { Draws, Gates } from './gates.js'

export type GatedAccount = LocalAccount & { onSign: (() => void) | undefined }

/** A signer whose every answer waits for the schedule. A draw of `false` makes it fail. */
export function createGatedAccount(address: Address, gates: Gates, signs: Draws<boolean>): GatedAccount {
  const stub = createStubAccount(address)
  const account = {
    ...stub,
    onSign: undefined as (() => void) | undefined,
    async signTransaction(transaction: never) {
      account.onSign?.()
      const works = signs.next()
      await gates.pass('signature')
      if (!works) throw new Error('the signer is not available')
      return stub.signTransaction(transaction)
    },
  }
  return account as unknown as GatedAccount
}
