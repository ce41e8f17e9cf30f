import { type Address, type Hex, stringToHex } from 'viem'

/**
 * The kinds of transactions in a sweep. `reverted` executes and reverts; `refused` fails before it is sent;
 * `allocated` is signed and sent by the user, at a nonce of `createNonceAllocator`; `returned` is a nonce
 * that is released.
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

/** One id is one transaction, regardless of how often and by which process it is requested. */
export type Wanted = { readonly id: string; readonly kind: Kind }

// The target of `reverted`. Its code is installed before the sweep begins, and reverts every call.
export const REVERTER: Address = `0x${'e7'.repeat(20)}`
export const REVERTER_CODE: Hex = '0x60006000fd'
const SINK: Address = `0x${'51'.repeat(20)}`

/** The id of the replacement in an ask of the kind `replace`. */
export const replacementOf = (id: string): string => `${id}-instead`

/** Unique per id: it identifies a transaction on the chain. */
export const dataOf = (id: string): Hex => stringToHex(id)

export function targetOf({ kind }: Pick<Wanted, 'kind'>): Address {
  return kind === 'reverted' || kind === 'refused' ? REVERTER : SINK
}
