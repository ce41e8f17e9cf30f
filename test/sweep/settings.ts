/** The chain that a child sends to. */
export type ChainSettings = {
  readonly url: string
  readonly chainId: number
  readonly blockTimeMs: number
}

/** A store that processes share, or find again after they were ended. */
export type StoreSettings =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly connectionString: string; readonly schema: string }
