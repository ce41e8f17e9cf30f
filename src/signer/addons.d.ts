// The addons themselves, because the packages' own entries silently fall back to slow JavaScript.

declare module 'secp256k1/bindings.js' {
  export function ecdsaSign(
    hash: Uint8Array,
    privateKey: Uint8Array,
    options: object,
    output: Uint8Array,
  ): { readonly signature: Uint8Array; readonly recid: number }
  export function ecdsaRecover(
    signature: Uint8Array,
    recoveryId: number,
    hash: Uint8Array,
    compressed: boolean,
  ): Uint8Array
}

declare module 'keccak/bindings.js'
