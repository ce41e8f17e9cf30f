import type { LocalAccount } from 'viem'
import type { Signed, Workbench } from '../tools/workbench.js'
import type { RefusalName } from './names.js'

/** A transaction that some node refuses, ready to be sent. */
export type Provoked = {
  readonly signed: Signed
  /** Who signed it, as far as a node can tell. */
  readonly account: LocalAccount
  /** Changes what stands against it: from then on every node has to take the same bytes, and to mine them. */
  cure?(): Promise<void>
  /** Of these two at one nonce exactly one is mined. */
  readonly rival?: Signed
  /** A refusal leaves this nonce, counted from the first, to another transaction. */
  readonly free?: number
}

export type Refusal = {
  readonly name: RefusalName
  /**
   * The node that it needs: one that others have used, or a new one. `smallPool`: a new one that keeps 8 transactions in
   * all.
   */
  readonly needs?: 'fresh' | 'smallPool'
  provoke(bench: Workbench): Promise<Provoked>
}
