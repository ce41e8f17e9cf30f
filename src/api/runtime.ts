/**
 * The code that lanes run on, which is most of the package. A process needs it only once it opens its first lane:
 * `systemEnvironment` loads it then, as one module. No other module imports it.
 */

export { openLane } from '../ownership/open.js'
export { createAccountAllocator } from './allocators/accountAllocator.js'
export { createCounterAllocator } from './allocators/counterAllocator.js'
export { sweep } from './pool/sweep.js'
export { createTreasury } from './pool/treasury.js'
export { findUnready } from './pool/unready.js'
export { createRecords } from './records/records.js'
