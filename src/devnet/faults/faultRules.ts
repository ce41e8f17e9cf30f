import type { Hex } from 'viem'

/** A call as a rule's `match` sees it. `hash` and `nonce` are those of the signed transaction it carries, if any. */
export type FaultCall = {
  /** The JSON-RPC method. */
  readonly method: string
  /** As they came. */
  readonly params: readonly unknown[]
  /** Of a signed transaction. */
  readonly hash?: Hex
  /** Of a signed transaction. */
  readonly nonce?: number
}

/** When a rule strikes. Without any of these it strikes always. */
export type FaultMatch = {
  /** Only these methods. A request of several calls is struck when one of them is. @default all */
  readonly method?: string | readonly string[] | undefined
  /** Of those that match, how many are struck, drawn from the devnet's seed. @default 1 */
  readonly probability?: number | undefined
  /** How often it strikes at most. @default no limit */
  readonly count?: number | undefined
  /** How many matches go by before it may strike. @default 0 */
  readonly skip?: number | undefined
  /** Only calls for which it returns true. */
  readonly match?: ((call: FaultCall) => boolean) | undefined
}

/** Faults of one HTTP request or WebSocket message, whatever it holds. */
export type RequestFault =
  /** The connection is destroyed, and nothing was done. */
  | { readonly fault: 'lostRequest' }
  /** Everything is done, and the connection is destroyed in place of an answer. */
  | { readonly fault: 'lostResponse' }
  /** Everything is done, and the connection breaks in the middle of the answer. */
  | { readonly fault: 'dropConnection' }
  /** Everything is done, and the answer is cut short: no JSON any more, under a length that fits. */
  | { readonly fault: 'malformed' }
  /** Nothing happens for `delayMs`. @default 100 */
  | { readonly fault: 'delay'; readonly delayMs?: number | undefined }
  /** Held until a later request that the rule matches has been answered, `delayMs` at most. @default 100 */
  | { readonly fault: 'reorder'; readonly delayMs?: number | undefined }
  /** An HTTP status in place of an answer; nothing was done. On a WebSocket it is a JSON-RPC error. @default 503 */
  | {
      readonly fault: 'httpStatus'
      readonly status?: number | undefined
      readonly message?: string | undefined
      /** Sent as `Retry-After`, in whole seconds, rounded up. */
      readonly retryAfterMs?: number | undefined
    }
  /** Reads are answered from `blocks` sealed blocks ago. Sends are taken as ever. @default 1 */
  | { readonly fault: 'laggingReplica'; readonly blocks?: number | undefined }

/** Faults of one call; its neighbours in a batch are served. */
export type CallFault =
  /** Not done, and this error is answered. @default -32603 "internal error" */
  | {
      readonly fault: 'rpcError'
      readonly code?: number | undefined
      readonly message?: string | undefined
      readonly data?: unknown
    }
  /** A send that is answered with its hash and goes nowhere. */
  | { readonly fault: 'neverPooled' }
  /** A send that is pooled, and gone before the next flashblock is made. */
  | { readonly fault: 'evict' }
  /** A send that finds its sender's lowest free nonce taken by another transaction of the same key. */
  | { readonly fault: 'foreign' }

/** Faults of the chain, drawn once a flashblock or once a sealed block. */
export type ChainFault =
  /** A flashblock that readers do not get: `pending` answers as `latest` until the next. */
  | { readonly fault: 'lostFlashblock' }
  /** Before a block is sealed, `depth` of the sealed ones are taken off and replaced. @default 1 */
  | {
      readonly fault: 'reorg'
      readonly depth?: number | undefined
      readonly returnToPool?: boolean | undefined
    }

/** A fault, and when it strikes. */
export type FaultRule = FaultMatch & (RequestFault | CallFault | ChainFault)
/** The name of a fault. */
export type FaultKind = FaultRule['fault']

/** An injected rule. */
export type FaultHandle = {
  /** It strikes no more. Calling it again does nothing. */
  remove(): void
  /** How often it struck: requests for a request's fault, calls, flashblocks or blocks for the others. */
  readonly hits: number
}

/** One call that a fault touched, or one flashblock or block. */
export type FaultEntry = {
  /** Which fault. */
  readonly fault: FaultKind
  /** The rule as it was injected. */
  readonly rule: FaultRule
  /** Which strike it belongs to, counted over all rules: the calls of one struck request share it. */
  readonly strike: number
  /** Of the call; missing for a fault of the chain. */
  readonly method?: string
  /** Of a signed transaction. */
  readonly hash?: Hex
  /** Of a signed transaction. */
  readonly nonce?: number
  /** Wall time, in milliseconds since the epoch. */
  readonly atMs: number
}

const REQUEST: ReadonlySet<FaultKind> = new Set([
  'lostRequest',
  'lostResponse',
  'dropConnection',
  'malformed',
  'delay',
  'reorder',
  'httpStatus',
  'laggingReplica',
])
const CALL: ReadonlySet<FaultKind> = new Set(['rpcError', 'neverPooled', 'evict', 'foreign'])

export const FAULT_KINDS: ReadonlySet<string> = new Set([...REQUEST, ...CALL, 'lostFlashblock', 'reorg'])

export function isRequestRule(rule: FaultRule): rule is FaultMatch & RequestFault {
  return REQUEST.has(rule.fault)
}

export function isCallRule(rule: FaultRule): rule is FaultMatch & CallFault {
  return CALL.has(rule.fault)
}

/** These change what becomes of a send, and mean nothing for a read. */
export function isSendRule(rule: FaultRule): boolean {
  return rule.fault === 'neverPooled' || rule.fault === 'evict' || rule.fault === 'foreign'
}
