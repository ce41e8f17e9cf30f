import type { FeeNeeds } from '../ledger/fees.js'

/** A pattern for the lowest fee that the node accepts. Each capture group is a number of wei. */
type PriceHint = {
  readonly words: RegExp
  readonly fields: readonly (keyof FeeNeeds)[]
  readonly above?: true
}

/** Applied to lower case text; the first match counts. Gaps are bounded, so that each pattern is linear. */
const PRICE_HINTS: readonly PriceHint[] = [
  // geth, op-geth and bor core/txpool/validation.go: "gas tip cap 1500000000, minimum needed 25000000000"
  { words: /gas tip cap -?\d+, minimum needed (\d+)/, fields: ['maxPriorityFeePerGas'] },
  // geth before 2024 and coreth core/txpool/validation.go: "tip needed 1, tip permitted 0"
  { words: /tip needed (\d+), tip permitted/, fields: ['maxPriorityFeePerGas'] },
  // reth crates/transaction-pool/src/error.rs, PriorityFeeBelowMinimum
  { words: /minimum required priority fee (\d+)/, fields: ['maxPriorityFeePerGas'] },
  // Nethermind Filters/PriorityFeeTooLowFilter.cs, MinGasPriceTxFilter.cs
  { words: /effectivepriorityfeepergas too low \d+ < (\d+)/, fields: ['maxPriorityFeePerGas'] },
  // EthereumJS client/src/service/txpool.ts: the tip, whatever the words call it
  { words: /does not pay the minimum gas price of (\d+)/, fields: ['maxPriorityFeePerGas'] },
  // EthereumJS, the same file: a replacement's two fees
  {
    words: /got tip \d+, min: (\d+), got fee \d+, min: (\d+)/,
    fields: ['maxPriorityFeePerGas', 'maxFeePerGas'],
  },
  // coreth core/txpool/legacypool: "have gas fee cap (1) < pool minimum fee cap (25000000000)"
  { words: /gas fee cap \(\d+\) < pool minimum fee cap \((\d+)\)/, fields: ['maxFeePerGas'] },
  // EDR MemPoolAddTransactionError: a replacement's price
  { words: /gasprice\/maxfeepergas of at least (\d+)/, fields: ['maxFeePerGas'] },
  // Hardhat: "gas price is 1, which is below the minimum of 7"
  { words: /which is below the minimum of (\d+)/, fields: ['maxFeePerGas'] },
  // OpenEthereum: "minimal gas price (minimal: 100, got: 50)"
  { words: /minimal: (\d+), got: \d/, fields: ['maxFeePerGas'] },
  // Hedera: "below configured minimum gas price '710000000000'"
  { words: /configured minimum gas price '(\d+)'/, fields: ['maxFeePerGas'] },
  // Optimism before Bedrock: "use at least tx.gasPrice = 19500000000 wei"
  { words: /use at least [^\n]{0,60}?tx\.gasprice = (\d+)/, fields: ['maxFeePerGas'] },
  // Nethermind Filters/FeeTooLowFilter.cs: "FeePerGas needs to be higher than 5"
  { words: /feepergas needs to be higher than (\d+)/, fields: ['maxFeePerGas'], above: true },
  // geth core/state_transition.go and Nitro, ErrFeeCapTooLow: "maxFeePerGas: 1, baseFee: 7"
  { words: /less than block base fee[^\n]{0,160}?base ?fee: (\d+)/, fields: ['baseFeePerGas'] },
  // Nethermind: "MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7"
  { words: /maxfeepergas too low[^\n]{0,80}?basefee: (\d+)/, fields: ['baseFeePerGas'] },
  // Hardhat: "too low for the next block, which has a baseFeePerGas of 7"
  { words: /which has a basefeepergas of (\d+)/, fields: ['baseFeePerGas'] },
  // Ganache: "is less than the block's baseFeePerGas (7)"
  { words: /less than the block's basefeepergas \((\d+)\)/, fields: ['baseFeePerGas'] },
]

// A longer number is no price: 10^30 wei per gas is more ether than exists for a transfer.
const DIGITS_MAX = 30

/** The lowest fees that a refusal states, if any. Takes the message in lower case. */
export function feeNeeds(normalised: string): FeeNeeds | undefined {
  for (const { words, fields, above } of PRICE_HINTS) {
    const found = words.exec(normalised)
    if (found === null) continue
    const stated = fields.map((field, index) => [field, weiOf(found[index + 1] as string, above)] as const)
    if (stated.some(([, wei]) => wei === undefined)) return undefined
    return Object.fromEntries(stated) as FeeNeeds
  }
  return undefined
}

function weiOf(digits: string, above: true | undefined): bigint | undefined {
  if (digits.length > DIGITS_MAX) return undefined
  return BigInt(digits) + (above ? 1n : 0n)
}
