import type { Address, Hex } from 'viem'
import type { PlainRpc } from '../../../tools/cli/demo/plainRpc.js'
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
 *
 * - `plain`: as it does without options, which is how a newcomer starts it.
 * - `interval`: every second.
 * - `manual`: when `mine` is called, and at no other time.
 */
export type Mode = 'plain' | 'interval' | 'manual'

/** What not every node can do. A case that needs one of these is left out on a node that lacks it. */
export type Ability =
  /** Executes EIP-7702 transactions. */
  | 'delegation'
  /** Keeps its chain on disk, so that it goes on after a restart. */
  | 'disk'
  /** Keeps it when it is killed, too, all but the newest blocks. */
  | 'kill'
  /** Has limits of its pool that can be set. */
  | 'poolLimits'

/** Takes the chain back to where it was when this was made. */
export type Rewind = () => Promise<void>

/** Everything that the cases have to know of one client. */
export type NodeDescription = {
  readonly name: NodeName
  /** The words of a refusal are all that differs: no other case is run. @default false */
  readonly refusalsAlone?: boolean
  /**
   * Builds or installs what is missing, which may take minutes and is announced by `says`.
   * @throws Error saying why the node cannot be had
   */
  locate(says: (line: string) => void): Promise<NodeCommand>
  /** What the command line has in each mode. */
  readonly args: Readonly<Record<Mode, readonly string[]>>
  /** Called when the node answers, before any case. */
  begin?(rpc: PlainRpc, mode: Mode): Promise<void>
  /** Gives an account money without a transaction. Where this is missing, an account that the node has the key of pays. */
  endow?(rpc: PlainRpc, address: Address, wei: bigint): Promise<void>
  /** The nonce that the accounts of the cases begin with, where it is not 0. */
  readonly firstNonce?: number
  setNonce?(rpc: PlainRpc, address: Address, nonce: number): Promise<void>
  /** One block with what the pool holds. In the mode `manual` alone. */
  mine(rpc: PlainRpc): Promise<void>
  /** Resolves when the pool has followed the block that holds this transaction; missing where it does so at once. */
  poolFollowed?(rpc: PlainRpc, hash: Hex): Promise<void>
  /** Arguments that keep the chain in this folder. */
  onDisk(folder: string): readonly string[]
  /** Arguments for a pool that drops most of a burst, and for one that keeps 8 transactions in all. */
  readonly smallPool?: readonly string[]
  readonly tinyPool?: readonly string[]
  /** Arguments with which it says what it refuses for now, where it answers with the hash and tries again by itself. */
  readonly saysRefusals?: readonly string[]
  markForRewind(rpc: PlainRpc): Promise<Rewind>
  /** Why it cannot do these. */
  readonly lacks: Readonly<Partial<Record<Ability, string>>>
  /**
   * Why it keeps transactions back that it could execute. A payment of a burst may end at its fee ceiling then; each is
   * executed once, or was told as not executed.
   */
  readonly keepsBack?: string
  /** Milliseconds that a burst of 1,000 may take. */
  readonly burstLimitMs: number
  /** What it answers to each transaction that some node refuses, and what it does with the bytes then. */
  readonly refusals: Readonly<Record<RefusalName, Expected>>
}
