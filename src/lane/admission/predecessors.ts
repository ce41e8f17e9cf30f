import { invalid } from '../../errors/invalid.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import { transactionOf } from '../transaction/txInternals.js'

/** A predecessor that this process does not know, and the argument that names it. */
export type UnknownPredecessor = { readonly argument: string; readonly id: string }

/** Checks the predecessors that `options.after` names. */
export type Predecessors = {
  /**
   * Checks that each predecessor was known before the transaction, so that there can be no cycle. Returns the
   * predecessors that this process does not know.
   * @throws TxlaneError `INVALID` if a predecessor is impossible
   */
  unknownOf(transaction: Transaction, after: readonly unknown[]): readonly UnknownPredecessor[]
  /**
   * Checks that the store has the predecessors.
   * @throws TxlaneError `INVALID` if it has not, unless it has `own`, the id of the caller
   */
  assertStored(unknown: readonly UnknownPredecessor[], own: string | undefined): Promise<void>
}

export function createPredecessors(
  { key, transactions }: Pick<LaneSession, 'key' | 'transactions'>,
  isStored: (id: string | undefined) => Promise<boolean>,
): Predecessors {
  return {
    unknownOf({ id, replaces }, after) {
      const unknown: UnknownPredecessor[] = []
      for (const [index, one] of after.entries()) {
        const argument = `options.after[${index}]`
        const given = transactionOf(one)
        const of = given?.id ?? (one as string)
        if (of === id) throw invalid(argument, of, 'another transaction than itself')
        if (of === replaces?.id) throw invalid(argument, of, 'another transaction than the one it replaces')
        if (given === undefined && !transactions.has(of)) unknown.push({ argument, id: of })
        if (given === undefined) continue
        const { chainId, genesisHash } = given.lane
        if (chainId !== key.chainId || genesisHash !== key.genesisHash)
          throw invalid(
            argument,
            of,
            `a transaction of chain ${key.chainId}; this one is of chain ${chainId}`,
          )
      }
      return unknown
    },
    async assertStored(unknown, own) {
      for (const { argument, id } of unknown) {
        if (await isStored(id)) continue
        // An earlier send with the same id may have outlived the records of its predecessors.
        if (await isStored(own)) return
        const expected = 'the id of a transaction that was sent before, on this chain and in this store'
        throw invalid(argument, id, expected)
      }
    },
  }
}
