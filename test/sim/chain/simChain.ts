import type { Address, Hash } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { Adjustment, SimBlock, View } from './block.js'
import type { Forced } from './blockInProgress.js'
import type { ChainSettings } from './options.js'
import type { Admission, Pool } from './pool.js'

export type ReorgOptions = {
  /** The number of sealed blocks that are replaced. */
  readonly depth: number
  /** Called for each transaction of a replaced block: true drops it. @default none */
  readonly drops?: (tx: SimTransaction) => boolean
  /**
   * The probability that a returned transaction is included in each new block, so that they land elsewhere.
   * @default 1
   */
  readonly inclusion?: number
  /** Included first in the new branch: foreign transactions that take nonces which were used before. */
  readonly forced?: readonly Forced[]
}

/** A chain of one sequencer, in virtual time. It is deterministic and waits only for its clock. */
export type SimChain = {
  readonly settings: ChainSettings
  readonly pool: Pool
  readonly head: SimBlock
  /** Sealed blocks from genesis to the head. */
  readonly canonical: readonly SimBlock[]
  /** The view of a replica that is `lagMs` behind. */
  view(lagMs?: number): View
  /** Submits a transaction's bytes to the node. */
  submit(raw: string): Admission & { readonly hash?: Hash }
  /** Seals blocks from now on, at its own rhythm. */
  start(): void
  stop(): void
  stepFlashblock(): void
  seal(): void
  reorg(options: ReorgOptions): void
  /**
   * Returns to an earlier block, as if the later ones had never existed: a reset, or a node that lost its
   * newest blocks.
   */
  rewind(options: { readonly blocks: number; readonly keepsPool: boolean }): void
  /** Calls `listener` after each change of what the chain shows. */
  watch(listener: () => void): void
  /** While it is halted nothing is sealed or preconfirmed. */
  setHalted(halted: boolean): void
  /**
   * The next sealed block lacks the transactions of the newest flashblocks; `keeps` selects the ones
   * that return to the pool.
   */
  loseFlashblocks(count: number, keeps?: (tx: SimTransaction) => boolean): void
  force(forced: Forced): void
  adjust(adjustment: Adjustment): void
  /** The base fee of the next blocks; afterwards it returns to its former value, by an eighth per block. */
  spikeBaseFee(baseFeeWei: bigint, blocks: number): void
  setPressure(full: boolean): void
  /** The nonces of authorizations that accounts have signed for themselves and that nodes have seen. */
  readonly tuples: ReadonlySet<number>
  /** The nonce of the next transaction that can be included. */
  nextNonce(address: Address): number
}
