export {
  accountNonce,
  entryPointNonce,
  forwarderNonce,
  type NonceSource,
  safeNonce,
  storageNonce,
} from './allocator/sources.js'
export { type ErrorTx, type Fate, isTxlaneError, TxlaneError, type TxlaneErrorCode } from './errors/base.js'
export { classifySendError, type ClassifySendErrorOptions, type SendOutcome, type SendReason } from './rpc/classify.js'
export {
  type AllocatorEvents,
  type CounterSnapshot,
  createNonceAllocator,
  type NonceAllocator,
  type NonceAllocatorParameters,
  type ReserveOptions,
} from './sender/allocator.js'
export type { CommitParameters, Reservation } from './sender/reservation.js'
export { createSender } from './sender/sender.js'
export { memoryStore } from './store/memory.js'
export { chainReads } from './viem/chainReads.js'
export type * from './types.js'
