import type { Address, Hex } from 'viem'

/** What stands at an address. A delegated account (EIP-7702) runs the code of `to` and has few places in pools. */
export type AccountKind =
  | { readonly kind: 'plain' }
  | { readonly kind: 'contract' }
  | { readonly kind: 'delegated'; readonly to: Address }

// EIP-7702: the designator is 0xef0100 and the address; no contract's code may begin with 0xef (EIP-3541).
const DELEGATION = /^0xef0100([0-9a-f]{40})$/i

/** Reads `eth_getCode`'s answer. */
export function accountKind(code: Hex): AccountKind {
  if (code === '0x') return { kind: 'plain' }
  const to = DELEGATION.exec(code)?.[1]
  return to === undefined ? { kind: 'contract' } : { kind: 'delegated', to: `0x${to}` }
}
