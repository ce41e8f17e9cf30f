import { type Hash, type Hex, keccak256 } from 'viem'
import type { Item } from '../items.js'
import { signOutside } from '../outside.js'
import { type Calls, failed } from './calls.js'
import type { Inquiries } from './inquiries.js'
import type { Work } from './work.js'

/** Outside code that signs and sends its own transactions, with nonces that it reserves. */
export type OutsideCode = {
  run(item: Item): Promise<void>
  /** The hash of a marker's transaction, which identifies it; undefined for transactions of the lane. */
  hashOf(marker: number): Hash | undefined
}

export function createOutsideCode(
  { asked }: Calls,
  inquiries: Inquiries,
  work: Work,
  { chainId, post }: { readonly chainId: number; readonly post: (raw: Hex) => Promise<Error | undefined> },
): OutsideCode {
  const hashes = new Map<number, Hash>()

  /** Bytes that the lane does not have were not sent either, so they can never land. */
  async function follow(marker: number, hash: Hash): Promise<void> {
    await inquiries.followFound(marker, await inquiries.again(marker, { hash }), 'sealed')
    work.finished(marker)
  }

  return {
    async run({ marker, program, outside: how }) {
      const reservation = await asked(marker, 'reserve', (from) => from.reserve())
      // A reservation without a commit ends with its process.
      if (failed(reservation)) return
      if (how === 'forget') return
      if (how === 'release') return void (await asked(marker, 'release', () => reservation.release()))
      const serializedTransaction = await signOutside({ chainId, nonce: reservation.nonce, program })
      if (how === 'silent') return void (await post(serializedTransaction))
      const hash = keccak256(serializedTransaction)
      hashes.set(marker, hash)
      work.began(marker, () => follow(marker, hash))
      const committed = await asked(marker, 'commit', () => reservation.commit({ serializedTransaction }))
      if (!failed(committed)) {
        const error = await post(serializedTransaction)
        await asked(marker, 'settle', () => reservation.settle(error))
      }
      await follow(marker, hash)
    },
    hashOf: (marker) => hashes.get(marker),
  }
}
