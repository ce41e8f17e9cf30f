/** What the reads do: loaded by the first call of one (see `public.ts`). */
export { getBlockByNumber } from './getBlockByNumber.js'
export { getBlockReceipts } from './getBlockReceipts.js'
export { readLane } from './readLane.js'
export { getCode, getStorageAt, getTransactionCount } from './state.js'
export { waitForCode, waitForStorage } from './waitFor.js'
export { watchPending } from './watchPending.js'
