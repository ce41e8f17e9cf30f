/**
 * What the lanes of a process run on. Nobody needs it before the first of them is opened, and it is most of the code:
 * so it is loaded then, as one module (see `environment.ts`), and imported by nothing else.
 */
export { createAccountAllocator } from './allocators/accountAllocator.js'
export { createCounterAllocator } from './allocators/counterAllocator.js'
export { openLane } from './lane/open.js'
export { sweep } from './pool/sweep.js'
export { createTreasury } from './pool/treasury.js'
export { findUnready } from './pool/unready.js'
export { createRecords } from './records/records.js'
