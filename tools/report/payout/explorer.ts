import type { Chain } from 'viem'
import type { PayoutReport } from './payout.js'

/**
 * The address of the chain's explorer, without a slash at its end; undefined if viem's definition has none, or one whose
 * pages cannot be derived from it.
 */
export function explorerOf({ blockExplorers }: Pick<Chain, 'blockExplorers'>): string | undefined {
  return usable(blockExplorers?.default.url)
}

/** Only web addresses become links, and only those to which a path can be appended. */
function usable(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined
  const { protocol, search, hash, href } = new URL(text)
  const isPlain = /^https?:$/.test(protocol) && search === '' && hash === ''
  return isPlain ? href.replace(/\/+$/, '') : undefined
}

/** The page of the explorer; undefined without an explorer. */
export function explorerPage(
  { explorer }: PayoutReport['chain'],
  kind: 'address' | 'tx' | 'token',
  key: string,
): string | undefined {
  const base = usable(explorer)
  return base === undefined ? undefined : `${base}/${kind}/${encodeURIComponent(key)}`
}
