import type { LocalAccount } from 'viem'
import type { Signed, Workbench } from '../tools/workbench.js'
import type { RefusalName } from './names.js'

/** A transaction that some node refuses, ready to be sent. */
export type Provoked = {
  readonly signed: Signed
  /** Its signer, as a node recovers it. */
  readonly account: LocalAccount
  /**
   * Removes the reason of the refusal: from then on every node has to accept the same bytes, and to mine
   * them.
   */
  cure?(): Promise<void>
  /** Exactly one of the two is mined, since they share one nonce. */
  readonly rival?: Signed
  /** A refusal leaves this nonce, counted from the first, to another transaction. */
  readonly free?: number
}

export type Refusal = {
  readonly name: RefusalName
  /**
   * The node that it needs: a shared one by default, or a `fresh` one; `smallPool` is a fresh one that keeps
   * 8 transactions in total.
   */
  readonly needs?: 'fresh' | 'smallPool'
  provoke(bench: Workbench): Promise<Provoked>
}
