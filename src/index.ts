export {
  accountNonce,
  entryPointNonce,
  forwarderNonce,
  type NonceGetter,
  type NonceSource,
  safeNonce,
  storageNonce,
} from './allocator/sources.js'
export type {
  AdoptParameters,
  AllocatorEvents,
  CounterSnapshot,
  NonceAllocator,
  NonceAllocatorParameters,
  ReserveOptions,
} from './api/allocators/allocator.js'
export type { CommitParameters, Reservation } from './api/allocators/reservation.js'
export { createNonceAllocator } from './api/createNonceAllocator.js'
export { createSender } from './api/createSender.js'
export { createSenderPool } from './api/createSenderPool.js'
export { createLanes, type Lanes, type LanesChain, type LanesParameters } from './api/lanes.js'
export type { RetireOptions } from './api/pool/accounts.js'
export type { TreasuryOptions } from './api/pool/payments.js'
export type { SenderPool, SenderPoolParameters } from './api/pool/pool.js'
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
} from './rpc/methods/public.js'
export { memoryStore } from './store/memory.js'
export type * from './types/index.js'
export { chainReads } from './viem/chainReads.js'
export { type LaneActions, laneActions } from './viem/laneActions.js'
export {
  createViemNonceManager,
  type ViemNonceManager,
  type ViemNonceManagerParameters,
} from './viem/nonceManager.js'
