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
import { seededRandom } from '../../devnet/faults/seeded.js'
import { childContract, ledgerContract } from './contracts/artifact.js'

/** What a transaction of the burst does. `reverting` ones are meant to execute and revert. */
export type ItemKind = 'transfer' | 'call' | 'deployment' | 'reverting'

export type AskedRequest = {
  /** Absent for a deployment, as viem wants it. */
  readonly to?: Address
  readonly data?: Hex
  readonly value: bigint
  /** Absent where the sender shall estimate it. */
  readonly gas?: bigint
}

/** One transaction as it is asked for. What it carries (`to`, `data`) is unique to its item, so that the chain tells. */
export type AskedItem = {
  /** From 1; item 0 is the deployment of the ledger itself. */
  readonly item: number
  readonly kind: ItemKind
  readonly request: AskedRequest
}

/** Gas limits for those that do not leave it to estimation. */
export type GasLimits = Readonly<Record<ItemKind, bigint>>

// Of twenty transactions. From 15 on every kind occurs.
const SHARES: readonly (readonly [ItemKind, number])[] = [
  ['transfer', 8],
  ['call', 7],
  ['deployment', 3],
  ['reverting', 2],
]
const SHARES_SUM = SHARES.reduce((sum, [, share]) => sum + share, 0)
const GAS_GIVEN = 0.5

/** The burst of a seed: the same for the same seed, count and ledger. */
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
    // Estimating a transaction that is meant to revert would refuse it: these always bring their gas.
    const given = kind === 'reverting' || random() < GAS_GIVEN
    const request = requestOf(kind, item, options.ledger)
    return { item, kind, request: given ? { ...request, gas: options.gas[kind] } : request }
  })
}

/** What an item of a kind looks like, without its gas. */
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

// Nobody has the key of such an address. It hangs on the ledger, which is another one in each run, so that two runs
// against one chain pay to different addresses.
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
