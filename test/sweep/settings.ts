/** The chain to which a child sends. */
export type ChainSettings = {
  readonly url: string
  readonly chainId: number
  readonly blockTimeMs: number
}

/** A store that processes share, or find again after a kill. */
export type StoreSettings =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly connectionString: string; readonly schema: string }
