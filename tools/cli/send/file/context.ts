import type { PayingChain } from './recipients/address.js'
import { chainIdOf, chainText } from './recipients/chainPrefixes.js'
import { shown } from './words/cells.js'

const MAINNET = new Set(['mainnet', 'ethereummainnet', 'ethereum', 'eth'])

/** Why a cell of a chain's column does not mean this chain. */
export function chainProblem(cell: string, { id, name }: PayingChain): string | undefined {
  if (cell === '') return undefined
  const word = plain(cell)
  const known = /^\d+$/.test(cell) ? Number(cell) : MAINNET.has(word) ? 1 : chainIdOf(cell)
  if (known === id || word === plain(name)) return undefined
  return `is meant for chain ${shown(cell)}, and this is ${chainText({ id, name })}`
}

const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

export const isNft = (type: string) => /^(?:nft|erc-?721|erc-?1155)$/.test(type)
