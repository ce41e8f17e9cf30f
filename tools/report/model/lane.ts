/** The chain's names where viem knows it. */
export type ChainName = { readonly name: string; readonly explorer: string | undefined }

/** The names of chains by their ids. Chains that viem does not know are missing. */
export type ChainNames = ReadonlyMap<number, ChainName>

/** @param lane `chainId:address`. The file is untrusted: a text of another form is the address of an unknown chain. */
export function laneOf(lane: string): { readonly chainId: number | undefined; readonly address: string } {
  const [, chainId, address] = /^(\d+):(.*)$/.exec(lane) ?? []
  return address === undefined ? { chainId: undefined, address: lane } : { chainId: Number(chainId), address }
}

/** `Base (chain 8453)`, or `chain 31337`. */
export function chainText(chainId: number | undefined, chains: ChainNames): string {
  if (chainId === undefined) return 'an unknown chain'
  const known = chains.get(chainId)
  return known === undefined ? `chain ${chainId}` : `${known.name} (chain ${chainId})`
}
