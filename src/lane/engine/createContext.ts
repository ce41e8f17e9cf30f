import type { Lane } from '../../allocator/lane.js'
import { signatures } from '../../rpc/signatures.js'
import type { LaneContext } from './context.js'
import type { EngineOptions } from './engineTypes.js'

/** What the parts of this engine share. */
export function createContext(
  options: EngineOptions,
  { lane, closing }: { readonly lane: Lane; readonly closing: AbortSignal },
): LaneContext {
  const { environment, session, ahead } = options
  return {
    lane,
    endpointPool: options.endpointPool,
    store: options.store,
    clock: ahead.clock,
    random: environment.random,
    limits: options.limits,
    logger: options.logger,
    notice: options.notice,
    events: session.events,
    errors: session.errors,
    fees: ahead.fees,
    lossDepth: options.lossDepth,
    broadcast: options.broadcast,
    signer: options.signer,
    signatures: environment.signatures ?? signatures,
    transactions: session.transactions,
    changed: new Set(),
    handedOff: new Map(),
    txOf: session.txOf,
    session,
    admission: options.admission,
    closing,
    get closed() {
      return closing.aborted
    },
    history: options.seed.history,
    blockedAt: -1,
  }
}
