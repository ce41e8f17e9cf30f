import {
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  slice,
} from 'viem'
import { seededRandom } from '../../tools/devnet/faults/seeded.js'
import { childContract, ledgerContract } from './contracts/artifact.js'

/** Kinds of transactions in the burst. `reverting` ones are meant to revert. */
export type ItemKind = 'transfer' | 'call' | 'deployment' | 'reverting'

export type AskedRequest = {
  /** Absent for a deployment, as viem requires. */
  readonly to?: Address
  readonly data?: Hex
  readonly value: bigint
  /** Absent if the sender has to estimate it. */
  readonly gas?: bigint
}

/**
 * One requested transaction. Its content (`to`, `data`) is unique to its item, so that the chain identifies
 * the item.
 */
export type AskedItem = {
  /** Item number from 1; item 0 is the deployment of the ledger itself. */
  readonly item: number
  readonly kind: ItemKind
  readonly request: AskedRequest
}

/** Gas limits for transactions that are sent without estimation. */
export type GasLimits = Readonly<Record<ItemKind, bigint>>

// Shares out of twenty transactions. A burst of 15 or more contains every kind.
const SHARES: readonly (readonly [ItemKind, number])[] = [
  ['transfer', 8],
  ['call', 7],
  ['deployment', 3],
  ['reverting', 2],
]
const SHARES_SUM = SHARES.reduce((sum, [, share]) => sum + share, 0)
const GAS_GIVEN = 0.5

/** Creates the burst of a seed. The same seed, count and ledger give the same burst. */
export function createWorkload(options: {
  readonly count: number
  readonly seed: number
  readonly ledger: Address
  readonly gas: GasLimits
}): readonly AskedItem[] {
  const random = seededRandom(options.seed)
  const kinds = shuffled(kindsOf(options.count), random)
  return kinds.map((kind, index) => {
    const item = index + 1
    // An estimation would reject a reverting transaction, so these always have a gas limit.
    const given = kind === 'reverting' || random() < GAS_GIVEN
    const request = requestOf(kind, item, options.ledger)
    return { item, kind, request: given ? { ...request, gas: options.gas[kind] } : request }
  })
}

/** The request of an item, without gas. */
export function requestOf(kind: ItemKind, item: number, ledger: Address): AskedRequest {
  switch (kind) {
    case 'transfer':
      return { to: addressOf(item, ledger), value: 1n }
    case 'call':
      return { to: ledger, value: 0n, data: ledgerCall('mark', item) }
    case 'reverting':
      return { to: ledger, value: 0n, data: ledgerCall('markAndRevert', item) }
    case 'deployment':
      return { value: 0n, data: concatHex([childContract.bytecode, constructorArguments(item, ledger)]) }
    default:
      return kind satisfies never
  }
}

function ledgerCall(functionName: 'mark' | 'markAndRevert', item: number): Hex {
  return encodeFunctionData({ abi: ledgerContract.abi, functionName, args: [BigInt(item)] })
}

function constructorArguments(item: number, ledger: Address): Hex {
  return encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [ledger, BigInt(item)])
}

// Addresses without a known key. They depend on the ledger, which differs in each run, so that two runs on
// one chain pay different addresses.
function addressOf(item: number, ledger: Address): Address {
  const digest = keccak256(constructorArguments(item, ledger))
  return getAddress(slice(digest, 12))
}

function kindsOf(count: number): ItemKind[] {
  return Array.from({ length: count }, (_, index) => {
    let place = (index * 7) % SHARES_SUM
    for (const [kind, share] of SHARES) {
      if (place < share) return kind
      place -= share
    }
    return 'transfer'
  })
}

function shuffled<t>(items: readonly t[], random: () => number): t[] {
  const result = [...items]
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const moved = result[at]!
    result[at] = result[other]!
    result[other] = moved
  }
  return result
}
