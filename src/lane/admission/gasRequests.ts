import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { mostGas } from '../../validate/gasBounds.js'
import type { Estimate, GasEstimator } from '../gas/gas.js'
import type { SequenceGas } from '../gas/sequenceGas.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Sequences } from './sequences.js'

/** Requests the gas of transactions from the node: by an estimate, a simulation or a simulated sequence. */
export type GasRequests = {
  /** Whether a node has to run the transaction before it is ready. */
  isNeeded(transaction: Transaction): boolean
  /** Undefined if the estimate is impossible until its predecessors in the sequence are visible. */
  ask(transaction: Transaction): Promise<Estimate | undefined>
  /**
   * The gas limit for an estimate. Gas set by the caller stays unchanged. An estimate is multiplied, but not
   * beyond the gas of a block.
   */
  limitOf(transaction: Transaction, estimate: bigint): bigint
}

export type GasRequestOptions = {
  readonly context: {
    readonly lane: Lane
    readonly endpointPool: Pick<EndpointPool, 'chain' | 'endpoints' | 'tracker'>
  }
  readonly estimator: GasEstimator
  readonly simulate: boolean
  readonly gasMultiplier: number
  readonly sequences: Pick<Sequences, 'before'>
  readonly sequenceGas: SequenceGas
}

export function createGasRequests(options: GasRequestOptions): GasRequests {
  const { context, estimator, sequences } = options
  const { lane, endpointPool } = context

  return {
    // A private transaction brings its gas, and a simulation would reveal it to the reader endpoint.
    isNeeded: ({ record }) => record.request.gas === undefined || (options.simulate && !record.private),
    async ask(transaction) {
      const { request } = transaction
      const from = lane.key.address
      const before = sequences.before(transaction)
      if (before.length > 0) return options.sequenceGas(before, transaction)
      return request.gas === undefined ? estimator.estimate(request, from) : estimator.simulate(request, from)
    },
    limitOf({ request }, estimate) {
      if (request.gas !== undefined) return request.gas
      const gas = scaled(estimate, options.gasMultiplier)
      const most = mostGas(endpointPool.chain, endpointPool.tracker.newest)
      return most !== undefined && gas > most && estimate <= most ? most : gas
    },
  }
}

function scaled(gas: bigint, multiplier: number): bigint {
  if (multiplier === 1) return gas
  return (gas * BigInt(Math.ceil(multiplier * 1_000)) + 999n) / 1_000n
}
