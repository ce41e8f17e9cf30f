import { type Address, type Hex, stringToHex } from 'viem'

/**
 * What the user of a sweep wants. `reverted` executes and reverts; `refused` fails before it is sent; `allocated` is
 * signed and sent by the user himself, at a nonce of `createNonceAllocator`; `returned` is a nonce that is given back.
 */
export const KINDS = [
  'plain',
  'reverted',
  'refused',
  'cancel',
  'replace',
  'speedUp',
  'expires',
  'allocated',
  'returned',
] as const

export type Kind = (typeof KINDS)[number]

/** One id is one transaction, however often it is asked for and whoever asks. */
export type Wanted = { readonly id: string; readonly kind: Kind }

// Where some are to revert, code is put there before the sweep begins: whatever calls it reverts.
export const REVERTER: Address = `0x${'e7'.repeat(20)}`
export const REVERTER_CODE: Hex = '0x60006000fd'
const SINK: Address = `0x${'51'.repeat(20)}`

/** The id of what takes the place of an ask of the kind `replace`. */
export const replacementOf = (id: string): string => `${id}-instead`

/** No two ids have the same one: it is how a transaction is known again on the chain. */
export const dataOf = (id: string): Hex => stringToHex(id)

export function targetOf({ kind }: Pick<Wanted, 'kind'>): Address {
  return kind === 'reverted' || kind === 'refused' ? REVERTER : SINK
}
