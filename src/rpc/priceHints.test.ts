import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import type { FeeNeeds } from '../ledger/fees.js'
import { classifySendError } from './classify.js'
import { ALL } from './corpus/index.fixture.js'
import { PROVIDERS } from './corpus/providers.fixture.js'
import { feeNeeds } from './priceHints.js'

const tip = (wei: bigint): FeeNeeds => ({ maxPriorityFeePerGas: wei })
const cap = (wei: bigint): FeeNeeds => ({ maxFeePerGas: wei })
const base = (wei: bigint): FeeNeeds => ({ baseFeePerGas: wei })

/** The clients' original messages; the corpora name the files. */
const STATED: readonly (readonly [string, string, FeeNeeds])[] = [
  [
    'geth, bor',
    'transaction underpriced: gas tip cap 1500000000, minimum needed 25000000000',
    tip(25_000_000_000n),
  ],
  ['geth', 'transaction gas price below minimum: gas tip cap 0, minimum needed 1000000', tip(1_000_000n)],
  ['coreth', 'transaction underpriced: address 0x33 tip needed 1, tip permitted 0', tip(1n)],
  ['reth', 'transaction priority fee below minimum required priority fee 1000000', tip(1_000_000n)],
  ['Nethermind', 'FeeTooLow, EffectivePriorityFeePerGas too low 10 < 20, BaseFee: 30', tip(20n)],
  [
    'coreth',
    'transaction underpriced: address 0x33 have gas fee cap (1) < pool minimum fee cap (25000000000)',
    cap(25_000_000_000n),
  ],
  ['Hardhat', 'Transaction gas price is 1, which is below the minimum of 7', cap(7n)],
  [
    'OpenEthereum',
    "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 100, got: 50). Try increasing the gas price.",
    cap(100n),
  ],
  ['Hedera', "Gas price '1' is below configured minimum gas price '710000000000'", cap(710_000_000_000n)],
  [
    'Metis',
    'gas price too low: 18000000000 wei, use at least tx.gasPrice = 19500000000 wei',
    cap(19_500_000_000n),
  ],
  [
    'Optimism before Bedrock',
    'fee too low: 30365610000000, use at least tx.gasLimit = 5874374 and tx.gasPrice = 15000000',
    cap(15_000_000n),
  ],
  [
    'Nethermind',
    'FeeTooLow, FeePerGas needs to be higher than 5 to be added to the TxPool. Affordable FeePerGas of rejected tx: 4.',
    cap(6n),
  ],
  ['geth', 'max fee per gas less than block base fee: address 0x33, maxFeePerGas: 1, baseFee: 7', base(7n)],
  [
    'Nitro',
    'max fee per gas less than block base fee: address 0x33, maxFeePerGas: 1 baseFee: 10000000',
    base(10_000_000n),
  ],
  ['older geth', 'fee cap less than block base fee: address 0x33, gasFeeCap: 1 baseFee: 7', base(7n)],
  ['Nethermind', 'transaction underpriced, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7', base(7n)],
  [
    'Hardhat',
    'Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 875000000',
    base(875_000_000n),
  ],
  [
    'EDR, a replacement',
    'Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 1100 is necessary to replace the existing transaction with nonce 0.',
    cap(1_100n),
  ],
]

/**
 * The part of each client's message that states the lowest fee, in the compared form. `{n}`: that fee. `{m}`:
 * another number.
 */
const FORMS: readonly (readonly [string, (wei: bigint) => FeeNeeds])[] = [
  ['gas tip cap {m}, minimum needed {n}', tip],
  ['tip needed {n}, tip permitted {m}', tip],
  ['minimum required priority fee {n}', tip],
  ['effectivepriorityfeepergas too low {m} < {n}, basefee: {m}', tip],
  ['does not pay the minimum gas price of {n}', tip],
  ['got tip {m}, min: {n}, got fee {m}, min: {n}', (wei) => ({ ...tip(wei), ...cap(wei) })],
  ['have gas fee cap ({m}) < pool minimum fee cap ({n})', cap],
  ['a gasprice/maxfeepergas of at least {n} is necessary', cap],
  ['gas price is {m}, which is below the minimum of {n}', cap],
  ['(minimal: {n}, got: {m})', cap],
  ["gas price '{m}' is below configured minimum gas price '{n}'", cap],
  ['{m} wei, use at least tx.gasprice = {n} wei', cap],
  ['feepergas needs to be higher than {n} to be added', (wei) => cap(wei + 1n)],
  ['less than block base fee: address 0x33, maxfeepergas: {m}, basefee: {n}', base],
  ['maxfeepergas too low. maxfeepergas: {m}, basefee: {n}', base],
  ['maxfeepergas ({m}) is too low for the next block, which has a basefeepergas of {n}', base],
  ["maxfeepergas ({m}) is less than the block's basefeepergas ({n})", base],
]
const filled = (form: string, least: string, other: bigint) =>
  form.replaceAll('{n}', least).replaceAll('{m}', `${other}`)
const wei = fc.bigInt({ min: 0n, max: 10n ** 30n - 1n })

describe('the lowest fees that a refusal states', () => {
  it.each(STATED)('%s: %s', (_, message, needs) => {
    expect(classifySendError({ kind: 'rpc', code: -32000, message })).toMatchObject({ needs })
  })

  it('messages of Ganache and EthereumJS are read as well', () => {
    const ganache = "Transaction's maxFeePerGas (1) is less than the block's baseFeePerGas (7)"
    expect(feeNeeds(ganache.toLowerCase())).toEqual(base(7n))
    expect(feeNeeds('tx does not pay the minimum gas price of 1000000000')).toEqual(tip(1_000_000_000n))
  })

  it.each(FORMS)('a number of wei of up to 30 digits is read: %s', (form, needs) => {
    fc.assert(
      fc.property(wei, wei, (least, other) => {
        expect(feeNeeds(filled(form, `${least}`, other))).toEqual(needs(least))
      }),
      { numRuns: runsOf(100) },
    )
  })

  it.each(FORMS)('a longer number is no price: %s', (form) => {
    expect(feeNeeds(filled(form, `1${'0'.repeat(30)}`, 7n))).toBeUndefined()
  })

  it('two fees are read from a message that states both, or none if one of them is no price', () => {
    const said = (least: string, leastCap: string) =>
      `replacement gas too low, got tip 10, min: ${least}, got fee 30, min: ${leastCap}`
    const absurd = '1'.repeat(31)
    expect(feeNeeds(said('22', '44'))).toEqual({ ...tip(22n), ...cap(44n) })
    expect(feeNeeds(said(absurd, '44'))).toBeUndefined()
    expect(feeNeeds(said('22', absurd))).toBeUndefined()
  })

  it('a message without a number states no fee', () => {
    for (const message of [
      'transaction underpriced',
      'replacement transaction underpriced',
      'Gas price below configured minimum gas price',
      // The transaction's own fee cap, not the lowest accepted one.
      'transaction feeCap 5 below chain minimum',
      // The price of blob gas is not a price of gas.
      'max fee per blob gas less than block blob gas fee: address 0x33 blobGasFeeCap: 1, blobBaseFee: 3',
    ])
      expect(classifySendError({ kind: 'rpc', code: -32000, message }).needs, message).toBeUndefined()
  })

  it('only refusals for the fees state a fee', () => {
    const said = [
      ...ALL.flatMap(({ said }) => Object.values(said).flat()),
      ...PROVIDERS.flatMap(({ said }) => said),
    ]
    const stated = said.filter(({ message }) => classifySendError({ kind: 'rpc', code: -1, message }).needs)
    expect(stated.length).toBeGreaterThan(10)
    for (const { reason } of stated) expect(['feeTooLow', 'replacementUnderpriced']).toContain(reason)
  })

  it('an absurd number is ignored', () => {
    const message = `transaction underpriced: gas tip cap 1, minimum needed 1${'0'.repeat(3_000)}`
    expect(classifySendError({ kind: 'rpc', code: -32000, message }).needs).toBeUndefined()
  })
})

describe('the highest nonce that a node accepts', () => {
  it('is stated by zkSync', () => {
    const message = 'nonce too high. allowed nonce range: 5 - 25, actual: 26'
    expect(classifySendError({ kind: 'rpc', code: 3, message, data: '0x' })).toMatchObject({
      reason: 'nonceTooHigh',
      expectedNonce: 5,
      nonceMax: 25,
    })
  })

  it('is not stated by a refusal without a range', () => {
    expect(classifySendError('nonce too high: tx: 7 state: 5').nonceMax).toBeUndefined()
  })
})
