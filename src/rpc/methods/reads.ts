/** The implementation of the reads. It is loaded by the first call of a read (see `public.ts`). */
export { getBlockByNumber } from './getBlockByNumber.js'
export { getBlockReceipts } from './getBlockReceipts.js'
export { waitForCode, waitForStorage, watchPending } from './polls.js'
export { readLane } from './readLane.js'
export { getCode, getStorageAt, getTransactionCount } from './state.js'
