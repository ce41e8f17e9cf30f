import type { FeeValues } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Tx } from '../../types/index.js'
import type { LaneCommand, Store } from '../../types/store.js'
import { setUnresolved } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import type { TxOperations } from '../transaction/tx.js'

type RemoteCommandsContext = {
  readonly lane: Lane
  readonly store: Store
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  txOf(transaction: Transaction): Tx
}

/** Commands to the lease owner by transaction id, from another process or from an operator. */
export type RemoteCommands = {
  /** Executes the command of a caller in another process. That caller learns the result from the store. */
  fulfil(id: string, command: LaneCommand): void
  /**
   * Applies the operator's decision on an unresolved transaction (row 27). Returns false if no unresolved
   * transaction has that id.
   */
  resolve(id: string, fate: 'executed' | 'notExecuted'): boolean
}

export function createRemoteCommands(
  context: RemoteCommandsContext,
  operations: TxOperations,
): RemoteCommands {
  const { lane, transactions, txOf, store } = context

  function resolve(id: string, fate: 'executed' | 'notExecuted'): boolean {
    const transaction = transactions.get(id)
    if (!transaction?.unresolved || transaction.nonce === undefined) return false
    setUnresolved(transaction, false)
    lane.apply(transaction.nonce, { type: 'resolve', claim: id, fate })
    return true
  }

  /**
   * The transaction has moved to another lane since the command was posted, so the command is forwarded.
   */
  async function pass(id: string, command: LaneCommand): Promise<void> {
    const stored = await store.find(lane.key, { id })
    if (stored !== undefined && stored.lane.address !== lane.key.address)
      await store.postCommand(lane.key, id, command)
  }

  return {
    resolve,
    fulfil(id, command) {
      const transaction = transactions.get(id)
      lane.journal.touch()
      if (transaction === undefined)
        return void pass(id, command).catch((error) => reportError(context, error))
      const tx = txOf(transaction)
      // A transaction that has landed or ended cannot be changed; the requester learns that from the store.
      const nothing = () => {}
      switch (command.kind) {
        case 'cancel':
          return void tx.cancel().catch(nothing)
        case 'abort':
          return operations.abort(transaction)
        case 'speedUp':
          return void tx
            .speedUp(command.fees as FeeValues | undefined)
            .catch(() => tx.speedUp())
            .catch(nothing)
        case 'resolve':
          return void resolve(id, command.fate)
        default:
          return command satisfies never
      }
    },
  }
}
