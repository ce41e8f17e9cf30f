import { readdirSync } from 'node:fs'
import { defineChain } from 'viem'
import { base } from 'viem/chains'
import { afterAll, describe, expect, test } from 'vitest'
import {
  ANNA,
  BOB,
  CARL,
  ETHER,
  type Given,
  MAINNET,
  payoutIn,
  refusalIn,
  sample,
  TOKENS,
} from './payout.fixture.js'

const VITALIK = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const IN_ETHER: Given = { unit: 'ether' }
const IN_WEI: Given = { unit: 'wei' }

type Payment = readonly [line: number, to: string, amount: bigint, symbol?: string]

/** One and two ether, on the lines of a file with a header. */
const ONE_AND_TWO: readonly Payment[] = [
  [2, ANNA, ETHER],
  [3, BOB, 2n * ETHER],
]

type Sample = {
  readonly file: string
  readonly given?: Given
  readonly pays: readonly Payment[]
  /** The lines and the kind of each doubt. */
  readonly doubts?: readonly (readonly [kind: string, ...lines: number[]])[]
  readonly ids?: readonly string[]
}

const PAID: readonly Sample[] = [
  {
    file: '02-safe-airdrop-native.csv',
    pays: [
      [2, ANNA, ETHER / 10_000n],
      [3, BOB, (2n * ETHER) / 10_000n],
    ],
  },
  {
    file: '04-safe-airdrop-decimals.csv',
    pays: [
      [2, ANNA, 21_440n * ETHER, 'DAI'],
      [3, BOB, 19_400n * ETHER, 'DAI'],
    ],
  },
  ...['05-disperse-spaces.csv', '06-disperse-equals.csv', '07-amount-first-no-header.csv'].map((file) => ({
    file,
    given: IN_ETHER,
    pays: [
      [1, ANNA, (15n * ETHER) / 10n],
      [2, BOB, 2n * ETHER],
    ] as const,
  })),
  { file: '08-address-amount-wei.csv', given: IN_WEI, pays: ONE_AND_TWO },
  {
    file: '09-template-with-comments.csv',
    pays: [
      [4, ANNA, 1_000n],
      [5, BOB, 2_500n],
    ],
  },
  {
    file: '10-recipient-usdc-reference.csv',
    given: { tokens: [TOKENS.USDC.address] },
    pays: [
      [2, ANNA, 10_500_000n, 'USDC'],
      [3, BOB, 250_000_000n, 'USDC'],
    ],
  },
  {
    file: '11-coordinape.csv',
    given: { columns: 'amount=received', tokens: [TOKENS.GNO.address], unit: 'tokens' },
    pays: [
      [2, ANNA, 30n * ETHER, 'GNO'],
      [3, BOB, 90n * ETHER, 'GNO'],
    ],
  },
  {
    file: '12-semicolons-decimal-comma.csv',
    pays: [
      [2, ANNA, (15n * ETHER) / 10n],
      [3, BOB, (225n * ETHER) / 100n],
    ],
  },
  {
    file: '13-merkle-distributor-exponent.csv',
    given: IN_ETHER,
    pays: [
      [1, ANNA, 8_209_220_685_000_000_000n],
      [2, BOB, 460_000_000_000n],
      [3, CARL, 78_995_509_999_999_990n],
    ],
  },
  { file: '20-bom-utf8.csv', pays: ONE_AND_TWO },
  { file: '21-utf16le-excel.csv', pays: ONE_AND_TWO.slice(0, 1) },
  { file: '22-tabs.tsv.csv', pays: ONE_AND_TWO },
  { file: '23-smart-quotes.csv', pays: ONE_AND_TWO },
  { file: '24-trailing-commas.csv', pays: ONE_AND_TWO },
  { file: '25-trailing-comma-rows.csv', pays: ONE_AND_TWO },
  {
    file: '26-lower-upper.csv',
    pays: [...ONE_AND_TWO, [4, CARL, 3n * ETHER], [5, ANNA, 4n * ETHER]],
  },
  { file: '29-eip3770.csv', pays: ONE_AND_TWO },
  {
    file: '30-ens.csv',
    pays: [
      [2, VITALIK, ETHER],
      [3, BOB, 2n * ETHER],
    ],
  },
  {
    file: '31-thousands-quoted.csv',
    pays: [
      [2, ANNA, 1_000n * ETHER],
      [3, BOB, (1_250_075n * ETHER) / 100n],
    ],
  },
  {
    file: '33-exponent.csv',
    pays: [
      [2, ANNA, ETHER],
      [3, BOB, 1_500n * ETHER],
    ],
  },
  { file: '34-total-row.csv', pays: ONE_AND_TWO, doubts: [['totals', 4]] },
  { file: '35-total-row-label.csv', pays: ONE_AND_TWO, doubts: [['totals', 4]] },
  {
    file: '36-duplicates.csv',
    pays: [...ONE_AND_TWO, [4, ANNA, ETHER], [5, ANNA, ETHER]],
    doubts: [['repeated', 4, 5]],
  },
  { file: '37-cr-only.csv', pays: ONE_AND_TWO },
  { file: '38-nbsp-and-zero-width.csv', pays: ONE_AND_TWO },
  { file: '43-header-twice.csv', given: { columns: 'amount=3' }, pays: [[2, ANNA, 2n * ETHER]] },
  { file: '58-id-begins-with-hash.csv', pays: ONE_AND_TWO, ids: ['#1', '#2'] },
  { file: '66-one-id-with-hash.csv', pays: ONE_AND_TWO, ids: ['#1001', 'A-2'], doubts: [['comment', 2]] },
]

const without = (symbol: string) => ({ ...MAINNET, tokens: { [symbol]: { ...TOKENS.DAI, decimals: 6 } } })
const ON_BASE = { ...MAINNET, chain: base }
const LOCAL = {
  ...MAINNET,
  chain: defineChain({ ...base, id: 31_337, name: 'chain 31337', contracts: {} }),
}

type Refused = readonly [file: string, given: Given, message: string]

const REFUSED: readonly Refused[] = [
  ['01-safe-airdrop-sample.csv', {}, '  line 5 pays an NFT (nft): only currencies are paid'],
  [
    '02-safe-airdrop-native.csv',
    { tokens: [TOKENS.DAI.address] },
    '  line 2 has no token address, which means ETH in this format: leave out --token',
  ],
  ['03-safe-airdrop-mixed-value.csv', {}, '  line 2 pays an NFT (erc1155): only currencies are paid'],
  ['04-safe-airdrop-decimals.csv', { on: without('DAI') }, '  line 2 says "18" decimals, and DAI has 6'],
  ['05-disperse-spaces.csv', {}, '  line 1 "1.5" has no unit: write "1.5 ether", or say --unit ether'],
  [
    '08-address-amount-wei.csv',
    {},
    '  line 2 "1000000000000000000" has no unit: write "1000000000000000000 ether" or "1000000000000000000 wei", or say --unit ether or --unit wei',
  ],
  [
    '10-recipient-usdc-reference.csv',
    IN_ETHER,
    '  line 2 "usdc" in the name of the column "amount_usdc" is no unit here: ether, gwei, wei, ETH. For a token give --token ADDRESS',
  ],
  [
    '10-recipient-usdc-reference.csv',
    { tokens: [TOKENS.DAI.address] },
    '  line 2 "usdc" in the name of the column "amount_usdc" is no unit here: DAI, tokens, base. If it means DAI, say --unit tokens',
  ],
  [
    '11-coordinape.csv',
    {},
    '  line 1 names 2 columns that may be the amount, "received" and "sent": say --columns "amount=received" or --columns "amount=sent"',
  ],
  [
    '27-wrong-checksum.csv',
    {},
    '  line 3 "0x3C44cdDdB6a900fa2b585dd299e03d12FA4293BC" has a wrong checksum: a character is wrong. Copy the address again',
  ],
  [
    '28-icap.csv',
    {},
    '  line 2 "XE338O073KYGTWWZN0F2WZ0R8PX5ZPPZS" is no address: its check digits or its length are wrong for an ICAP address. Copy it again, or write the address as 0x…',
  ],
  ['29-eip3770.csv', { on: ON_BASE }, `  line 2 "eth:${ANNA}" is meant for chain 1, and this is Base (8453)`],
  [
    '30-ens.csv',
    { on: LOCAL },
    '  line 2 "vitalik.eth" is a name, and chain 31337 has no ENS: write the address',
  ],
  ['30-ens.csv', { on: { ...MAINNET, names: {} } }, '  line 2 "vitalik.eth" has no address in ENS'],
  [
    '32-thousands-unquoted.csv',
    {},
    '  line 2 has 3 cells for 2 columns: name the other column, or put a cell with a separator in it into quotation marks, such as "1,000 ether"',
  ],
  [
    '43-header-twice.csv',
    {},
    '  line 1 names 2 columns that may be the amount, "amount" and "amount": say --columns "amount=2" or --columns "amount=3"',
  ],
]

const seen = new Set<string>()

describe('a sample is paid exactly so', () => {
  test.each(PAID)('$file', async ({ file, given = {}, pays, doubts = [], ids }) => {
    seen.add(file)
    const payout = await payoutIn(sample(file), given)
    expect(
      payout.rows.map(({ line, to, amount, money }) => [line, to, amount, money.symbol] as const),
    ).toEqual(pays.map(([line, to, amount, symbol = 'ETH']) => [line, to, amount, symbol]))
    expect(payout.doubts.map(({ kind, lines }) => [kind, ...lines])).toEqual(doubts)
    if (ids) expect(payout.rows.map(({ id }) => id)).toEqual(ids)
  })
})

describe('a sample is refused with its line and the remedy', () => {
  const cases = REFUSED.map(([file, given, message]) => ({ file, given, message }))
  test.each(cases)('$file: $message', async ({ file, given, message }) => {
    seen.add(file)
    const [head, first] = (await refusalIn(sample(file), given)).split('\n')
    expect([head, first]).toEqual(['pay.csv was not sent:', message])
  })
})

afterAll(() => {
  expect([...seen].sort()).toEqual(readdirSync(new URL('samples', import.meta.url)).sort())
})
