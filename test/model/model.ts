/** The shipped ledger and its search, in one bundle for the tests. */
export { TABLE } from '../../src/ledger/table.js'
export { transition } from '../../src/ledger/transition.js'
export { SCOPES } from './scopes.js'
export { search } from './search.js'
export { createSystem } from './system.js'
