import type { FaultMatch, FaultRule } from './faultRules.js'

/** Names of the rule sets. */
export type FaultPreset = 'none' | 'default' | 'storm'

export const FAULT_PRESETS = ['none', 'default', 'storm'] as const satisfies readonly FaultPreset[]

const SEND = ['eth_sendRawTransaction', 'eth_sendRawTransactionSync']
const READ = ['eth_getBlockByNumber', 'eth_getTransactionCount', 'eth_getTransactionReceipt']

/**
 * Fault frequency for requests with sends, for any request, for single calls, for flashblocks, and for
 * notifications of subscriptions.
 */
type Density = Record<
  'sends' | 'requests' | 'calls' | 'flashblocks' | 'notifications',
  Pick<FaultMatch, 'probability' | 'count'>
>

// A batched burst of 1,000 is about 20 to 50 requests. A probability alone would hit a kind never, or,
// without batching, a hundred times. So the probability is high, and the count is capped.
const DEFAULT: Density = {
  sends: { probability: 0.12, count: 3 },
  requests: { probability: 0.05, count: 3 },
  calls: { probability: 0.005, count: 4 },
  flashblocks: { probability: 0.1, count: 3 },
  notifications: { probability: 0.05, count: 2 },
}
const STORM: Density = {
  sends: { probability: 0.08 },
  requests: { probability: 0.04 },
  calls: { probability: 0.02 },
  flashblocks: { probability: 0.15 },
  notifications: { probability: 0.02 },
}

function rules({ sends, requests, calls, flashblocks, notifications }: Density): FaultRule[] {
  return [
    { fault: 'lostRequest', method: SEND, ...sends },
    { fault: 'lostResponse', method: SEND, ...sends },
    { fault: 'dropConnection', ...requests },
    { fault: 'malformed', ...requests },
    { fault: 'delay', delayMs: 150, ...requests },
    { fault: 'reorder', delayMs: 150, method: SEND, ...sends },
    { fault: 'httpStatus', status: 429, retryAfterMs: 1_000, method: SEND, ...sends },
    { fault: 'httpStatus', status: 503, ...requests },
    { fault: 'laggingReplica', blocks: 1, method: READ, ...requests },
    { fault: 'rpcError', code: -32016, message: 'over rate limit', method: SEND, ...calls },
    {
      fault: 'rpcError',
      code: 3,
      message: 'execution reverted',
      data: '0x',
      method: 'eth_estimateGas',
      ...calls,
    },
    { fault: 'neverPooled', ...calls },
    { fault: 'evict', ...calls },
    { fault: 'foreign', ...calls },
    { fault: 'lostFlashblock', ...flashblocks },
    { fault: 'silentSubscription', ...notifications },
    { fault: 'repeatedNotification', ...notifications },
    { fault: 'skippedNotification', ...notifications },
    { fault: 'reorderedNotification', ...notifications },
    { fault: 'droppedSocket', ...notifications },
  ]
}

/**
 * `default` applies each kind except `reorg` a few times in a burst of 1,000. `storm` has no cap, and also
 * replaces the newest sealed block occasionally.
 */
export function presetRules(name: FaultPreset): readonly FaultRule[] {
  switch (name) {
    case 'none':
      return []
    case 'default':
      return rules(DEFAULT)
    case 'storm':
      return [...rules(STORM), { fault: 'reorg', depth: 1, probability: 0.05 }]
  }
}
