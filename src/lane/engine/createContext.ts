import type { Lane } from '../../allocator/lane.js'
import type { Stop } from '../../platform/stopSignal.js'
import { signatures } from '../../rpc/signatures.js'
import type { LaneContext } from './context.js'
import type { EngineOptions } from './engineTypes.js'

/** What the parts of this engine share. */
export function createContext(
  options: EngineOptions,
  { lane, closing }: { readonly lane: Lane; readonly closing: Stop },
): LaneContext {
  const { environment, handle, ahead } = options
  return {
    lane,
    hub: options.hub,
    store: options.store,
    clock: ahead.clock,
    random: environment.random,
    limits: options.limits,
    logger: options.logger,
    notice: options.notice,
    events: handle.events,
    errors: handle.errors,
    fees: ahead.fees,
    lossDepth: options.lossDepth,
    broadcast: options.broadcast,
    signer: options.signer,
    signatures: environment.signatures ?? signatures,
    transactions: handle.transactions,
    changed: new Set(),
    handed: new Map(),
    txOf: handle.txOf,
    handle,
    admission: options.admission,
    closing,
    get closed() {
      return closing.stopped()
    },
    history: options.seed.history,
    blockedAt: -1,
  }
}
