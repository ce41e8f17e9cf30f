/** The ledger that ships, and what searches it: for tests, bundled. */
export { TABLE } from '../../src/ledger/table.js'
export { transition } from '../../src/ledger/transition.js'
export { SCOPES } from './scopes.js'
export { search } from './search.js'
export { createSystem } from './system.js'
