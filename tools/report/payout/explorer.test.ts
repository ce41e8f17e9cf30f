import { expect, test } from 'vitest'
import { explorerOf, explorerPage } from './explorer.js'
import { CHAIN } from './payout.fixture.js'

const explorerAt = (url: string) => explorerOf({ blockExplorers: { default: { name: 'Explorer', url } } })

test.each([
  ['https://basescan.org', 'https://basescan.org'],
  ['https://basescan.org/', 'https://basescan.org'],
  ['https://hashscan.io/mainnet/', 'https://hashscan.io/mainnet'],
])('the explorer of a chain with %s is %s', (url, explorer) => {
  expect(explorerAt(url)).toBe(explorer)
})

test.each([
  'https://visionscan.org/?chain=vpioneer',
  'https://a.b/#/chain',
  'javascript:alert(1)',
  'explorer',
  '',
])('a chain with %j has no explorer: its pages cannot be derived', (url) => {
  expect(explorerAt(url)).toBeUndefined()
  expect(explorerPage({ ...CHAIN, explorer: url }, 'tx', '0x1')).toBeUndefined()
})

test('a chain without explorers has none', () => {
  expect(explorerOf({})).toBeUndefined()
  expect(explorerPage({ ...CHAIN, explorer: undefined }, 'tx', '0x1')).toBeUndefined()
})

test('a page of the explorer keeps its path', () => {
  const chain = { ...CHAIN, explorer: 'https://hashscan.io/mainnet/' }
  expect(explorerPage(chain, 'tx', '0xab')).toBe('https://hashscan.io/mainnet/tx/0xab')
})
