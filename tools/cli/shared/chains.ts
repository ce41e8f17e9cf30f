import type { Chain } from 'viem'

// Unrelated local chains share these ids.
const DEVELOPMENT = new Set([1_337, 31_337])

/** viem's chain with this id. `viem/chains` has about a thousand, so it is loaded only for ids that may be in it. */
export async function knownChain(id: number): Promise<Chain | undefined> {
  if (DEVELOPMENT.has(id)) return undefined
  const isIt = (one: unknown): one is Chain => (one as Partial<Chain> | undefined)?.id === id
  return Object.values((await import('viem/chains')) as Record<string, unknown>).find(isIt)
}
