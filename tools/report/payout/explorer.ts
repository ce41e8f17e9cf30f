import type { PayoutReport } from './payout.js'

/**
 * A page of the chain's explorer. Undefined without an explorer, and with one whose pages cannot be derived from its
 * address: some have a query or a fragment.
 */
export function explorerPage(
  { explorer }: PayoutReport['chain'],
  kind: 'address' | 'tx' | 'token',
  key: string,
): string | undefined {
  if (explorer === undefined || !URL.canParse(explorer)) return undefined
  const { protocol, search, hash, href } = new URL(explorer)
  // A link to any other scheme could run code.
  if (!/^https?:$/.test(protocol) || search !== '' || hash !== '') return undefined
  return `${href.replace(/\/+$/, '')}/${kind}/${encodeURIComponent(key)}`
}
