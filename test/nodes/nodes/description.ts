import type { Address, Hex } from 'viem'
import type { PlainRpc } from '../../demo/plainRpc.js'
import type { NodeCommand } from '../find/nodeCommand.js'
import type { Expected, RefusalName } from '../refusals/names.js'

export const NODE_NAMES = [
  'anvil',
  'hardhat',
  'hardhat-automine',
  'ganache',
  'geth',
  'geth-nolocals',
] as const
export type NodeName = (typeof NODE_NAMES)[number]

/**
 * When a node makes blocks.
 * - `plain`: as it does without options, as a newcomer starts it.
 * - `interval`: every second.
 * - `manual`: only when `mine` is called.
 */
export type Mode = 'plain' | 'interval' | 'manual'

/** Abilities that some nodes lack. A case that needs one is skipped on a node without it. */
export type Ability =
  /** Executes EIP-7702 transactions. */
  | 'delegation'
  /** Keeps its chain on disk, so that it continues after a restart. */
  | 'disk'
  /** Also keeps its chain after a kill, except the newest blocks. */
  | 'kill'
  /** Has configurable limits of its pool. */
  | 'poolLimits'

/** Resets the chain to its state at the time when this function was made. */
type Rewind = () => Promise<void>

/** The properties of one client that the cases need. */
export type NodeDescription = {
  readonly name: NodeName
  /** True if only the messages of refusals differ: no other case is run. @default false */
  readonly refusalsAlone?: boolean
  /**
   * Builds or installs a missing binary, which may take minutes; `says` announces it.
   * @throws Error with the reason why the node is unavailable
   */
  locate(says: (line: string) => void): Promise<NodeCommand>
  /** The command line arguments of each mode. */
  readonly args: Readonly<Record<Mode, readonly string[]>>
  /** Called when the node answers, before any case. */
  begin?(rpc: PlainRpc, mode: Mode): Promise<void>
  /** Funds an account without a transaction. If this is missing, an account whose key the node holds pays. */
  endow?(rpc: PlainRpc, address: Address, wei: bigint): Promise<void>
  /** The first nonce of the cases' accounts, if it is not 0. */
  readonly firstNonce?: number
  setNonce?(rpc: PlainRpc, address: Address, nonce: number): Promise<void>
  /** Makes one block from the pool. Only in the mode `manual`. */
  mine(rpc: PlainRpc): Promise<void>
  /**
   * Resolves when the pool has followed the block that holds this transaction; missing if the pool follows
   * at once.
   */
  poolFollowed?(rpc: PlainRpc, hash: Hex): Promise<void>
  /** Arguments that keep the chain in this folder. */
  onDisk(folder: string): readonly string[]
  /** Arguments for a pool that drops most of a burst, and for one that keeps 8 transactions in total. */
  readonly smallPool?: readonly string[]
  readonly tinyPool?: readonly string[]
  /**
   * Arguments with which it reports temporary refusals. By default it answers with the hash and retries by
   * itself.
   */
  readonly saysRefusals?: readonly string[]
  markForRewind(rpc: PlainRpc): Promise<Rewind>
  /** The reason for each missing ability. */
  readonly lacks: Readonly<Partial<Record<Ability, string>>>
  /**
   * The reason why it holds back executable transactions. A payment of a burst may then end at its fee
   * ceiling; each payment is executed once, or was reported as not executed.
   */
  readonly keepsBack?: string
  /** The time limit of a burst of 1,000, in milliseconds. */
  readonly burstLimitMs: number
  /** Its answer to each transaction that some node refuses, and the later state of the bytes. */
  readonly refusals: Readonly<Record<RefusalName, Expected>>
}

/** `evm_snapshot` and `evm_revert`, which anvil, Hardhat and Ganache have in common. */
export async function markBySnapshot(rpc: PlainRpc): Promise<Rewind> {
  const snapshot = await rpc.call('evm_snapshot')
  return async () => {
    if ((await rpc.call('evm_revert', snapshot)) !== true) throw new Error('evm_revert did not go back')
  }
}
