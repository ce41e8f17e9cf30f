export {
  accountNonce,
  entryPointNonce,
  forwarderNonce,
  type NonceGetter,
  type NonceSource,
  safeNonce,
  storageNonce,
} from './allocator/sources.js'
export { type ErrorTx, type Fate, isTxlaneError, TxlaneError, type TxlaneErrorCode } from './errors/base.js'
export {
  type ClassifySendErrorOptions,
  classifySendError,
  type SendOutcome,
  type SendReason,
} from './rpc/classify.js'
export {
  getBlockByNumber,
  getBlockReceipts,
  getCode,
  getStorageAt,
  getTransactionCount,
  readLane,
  waitForCode,
  waitForStorage,
  watchPending,
} from './rpc/reads/public.js'
export {
  type AdoptParameters,
  type AllocatorEvents,
  type CounterSnapshot,
  createNonceAllocator,
  type NonceAllocator,
  type NonceAllocatorParameters,
  type ReserveOptions,
} from './sender/allocators/allocator.js'
export type { CommitParameters, Reservation } from './sender/allocators/reservation.js'
export { createLanes, type Lanes, type LanesChain, type LanesParameters } from './sender/lanes.js'
export type { RetireOptions } from './sender/pool/accounts.js'
export { createSenderPool, type SenderPool, type SenderPoolParameters } from './sender/pool/pool.js'
export type { TreasuryOptions } from './sender/pool/treasuryOptions.js'
export { createSender } from './sender/sender.js'
export { memoryStore } from './store/memory.js'
export type * from './types.js'
export { chainReads } from './viem/chainReads.js'
export { type LaneActions, laneActions } from './viem/laneActions.js'
export {
  createViemNonceManager,
  type ViemNonceManager,
  type ViemNonceManagerParameters,
} from './viem/nonceManager.js'
