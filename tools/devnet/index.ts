export type { ReorgOptions } from './chain/steps.js'
export type { Devnet, DevnetClient, ForeignTx } from './devnet.js'
export type {
  CallFault,
  ChainFault,
  FaultCall,
  FaultEntry,
  FaultHandle,
  FaultKind,
  FaultMatch,
  FaultRule,
  NotificationFault,
  RequestFault,
  SubscriptionTopic,
} from './faults/faultRules.js'
export type { Faults } from './faults/faults.js'
export type { FaultPreset } from './faults/presets.js'
export type { DevnetMode, DevnetOptions, DevnetRules, DevnetSyncSend } from './options.js'
export type { PoolItem } from './pool/pool.js'
export type { DevnetStats } from './serve/exchange.js'
export { startDevnet } from './start.js'
