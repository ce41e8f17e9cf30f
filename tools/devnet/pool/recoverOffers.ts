import type { AnvilRpc } from '../rpc/anvilRpc.js'
import type { DecodedTx } from '../rpc/decode.js'
import type { Offer } from './poolBook.js'
import { recoverAll } from './recover.js'

/** Recovers senders and authorities; undefined if the sender's signature is invalid. */
export async function recoverOffers(
  rpc: AnvilRpc,
  txs: readonly DecodedTx[],
): Promise<readonly (Offer | undefined)[]> {
  const signers = await recoverAll(
    rpc,
    txs.flatMap(({ signature, authorizations }) => [signature, ...authorizations]),
  )
  let at = 0
  return txs.map((tx) => {
    const [from, ...authorities] = signers.slice(at, at + 1 + tx.authorizations.length)
    at += 1 + tx.authorizations.length
    if (from === undefined) return undefined
    return { tx, from, authorities: [...new Set(authorities)].filter((address) => address !== undefined) }
  })
}
