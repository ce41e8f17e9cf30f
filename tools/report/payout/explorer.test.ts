import { expect, test } from 'vitest'
import { explorerPage } from './explorer.js'
import { CHAIN } from './payout.fixture.js'

const pageAt = (explorer: string | undefined) => explorerPage({ ...CHAIN, explorer }, 'tx', '0xab')

test.each([
  ['https://basescan.org', 'https://basescan.org/tx/0xab'],
  ['https://basescan.org/', 'https://basescan.org/tx/0xab'],
  ['https://hashscan.io/mainnet/', 'https://hashscan.io/mainnet/tx/0xab'],
])('the explorer %s has the page %s', (explorer, page) => {
  expect(pageAt(explorer)).toBe(page)
})

test.each([
  'https://visionscan.org/?chain=vpioneer',
  'https://a.b/#/chain',
  'javascript:alert(1)',
  'explorer',
  '',
  undefined,
])('an explorer at %j has no pages that can be derived', (explorer) => {
  expect(pageAt(explorer)).toBeUndefined()
})
