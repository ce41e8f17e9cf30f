export type { SqliteStoreOptions } from './options.js'
export { sqliteStore } from './sqliteStore.js'
