export type { SqliteStoreOptions } from './sqliteStore.js'
export { sqliteStore } from './sqliteStore.js'
