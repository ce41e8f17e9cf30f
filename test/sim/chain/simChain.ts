import type { Address, Hash } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { Adjustment, SimBlock, View } from './block.js'
import type { Forced } from './builder.js'
import type { ChainSettings } from './options.js'
import type { Admission, Pool } from './pool.js'

export type ReorgOptions = {
  /** How many sealed blocks are replaced. */
  readonly depth: number
  /** What becomes of a transaction that was in one of them: true and it is gone. @default none */
  readonly drops?: (tx: SimTransaction) => boolean
  /** How likely a returned transaction is to go into each new block, so that they land elsewhere. @default 1 */
  readonly inclusion?: number
  /** Goes first in the new branch: a foreign transaction that takes a nonce which was used before. */
  readonly forced?: readonly Forced[]
}

/** A chain of one sequencer, in virtual time. Deterministic; nothing in it waits for anything but its clock. */
export type SimChain = {
  readonly settings: ChainSettings
  readonly pool: Pool
  readonly head: SimBlock
  /** Sealed blocks from genesis to the head. */
  readonly canonical: readonly SimBlock[]
  /** What a replica shows that is `lagMs` behind. */
  view(lagMs?: number): View
  /** A transaction's bytes reach the node. */
  submit(raw: string): Admission & { readonly hash?: Hash }
  /** Seals blocks from now on, in its own time. */
  start(): void
  stop(): void
  stepFlashblock(): void
  seal(): void
  reorg(options: ReorgOptions): void
  /** Back to an earlier block, as if what came after it had never been: a reset, or a node that lost its newest blocks. */
  rewind(options: { readonly blocks: number; readonly keepsPool: boolean }): void
  /** Nothing is sealed and nothing preconfirmed while it is halted. */
  setHalted(halted: boolean): void
  /** The next sealed block lacks what the newest flashblocks showed; `keeps` says what returns to the pool. */
  loseFlashblocks(count: number, keeps?: (tx: SimTransaction) => boolean): void
  force(forced: Forced): void
  adjust(adjustment: Adjustment): void
  /** The base fee of the next blocks; afterwards it returns to where it was, by an eighth a block. */
  spikeBaseFee(baseFeeWei: bigint, blocks: number): void
  setPressure(full: boolean): void
  /** The nonces of the authorizations that accounts have signed for themselves, as far as nodes have seen them. */
  readonly tuples: ReadonlySet<number>
  /** The nonce that the next transaction to be included must have. */
  nextNonce(address: Address): number
}
