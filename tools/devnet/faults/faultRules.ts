import type { Hex } from 'viem'

/**
 * A call as a rule's `match` function receives it. `hash` and `nonce` are set for a call with a signed
 * transaction.
 */
export type FaultCall = {
  /** The JSON-RPC method. */
  readonly method: string
  /** Unchanged parameters of the request. */
  readonly params: readonly unknown[]
  /** Hash of the signed transaction. */
  readonly hash?: Hex
  /** Nonce of the signed transaction. */
  readonly nonce?: number
}

/** Conditions under which a rule applies. A rule without conditions always applies. */
export type FaultMatch = {
  /** Methods that the rule matches. A batch matches if one of its calls does. @default all */
  readonly method?: string | readonly string[] | undefined
  /** Share of the matches that are faulted, drawn with the devnet's seed. @default 1 */
  readonly probability?: number | undefined
  /** Maximum number of times that the rule applies. @default no limit */
  readonly count?: number | undefined
  /** Number of matches to let through first. @default 0 */
  readonly skip?: number | undefined
  /** Predicate that a call must also satisfy. */
  readonly match?: ((call: FaultCall) => boolean) | undefined
}

/** Faults of one HTTP request or WebSocket message, with all of its calls. */
export type RequestFault =
  /** The connection is destroyed before the request is executed. */
  | { readonly fault: 'lostRequest' }
  /** The request is executed, and the connection is destroyed instead of a response. */
  | { readonly fault: 'lostResponse' }
  /** The request is executed, and the connection breaks in the middle of the response. */
  | { readonly fault: 'dropConnection' }
  /** The request is executed, and the body is truncated: invalid JSON under a matching content length. */
  | { readonly fault: 'malformed' }
  /** The request is held for `delayMs` before it is executed. @default 100 */
  | { readonly fault: 'delay'; readonly delayMs?: number | undefined }
  /**
   * The request is held until a later request that the rule matches was answered, at most `delayMs`.
   * @default 100
   */
  | { readonly fault: 'reorder'; readonly delayMs?: number | undefined }
  /**
   * An HTTP status instead of a response; the request is not executed. On a WebSocket the fault is a JSON-RPC
   * error.
   * @default 503
   */
  | {
      readonly fault: 'httpStatus'
      readonly status?: number | undefined
      readonly message?: string | undefined
      /** Value of `Retry-After`, rounded up to whole seconds. */
      readonly retryAfterMs?: number | undefined
    }
  /** Reads are answered from `blocks` sealed blocks ago. Sends work as usual. @default 1 */
  | { readonly fault: 'laggingReplica'; readonly blocks?: number | undefined }

/** Faults of one call; the other calls of its batch are executed. */
export type CallFault =
  /** The call is not executed, and gets this error. @default -32603 "internal error" */
  | {
      readonly fault: 'rpcError'
      readonly code?: number | undefined
      readonly message?: string | undefined
      readonly data?: unknown
    }
  /** A send that is answered with its hash, and never reaches the pool. */
  | { readonly fault: 'neverPooled' }
  /** A send that is pooled, and evicted before the next flashblock is made. */
  | { readonly fault: 'evict' }
  /** A send whose sender's lowest free nonce is first taken by another transaction of the same key. */
  | { readonly fault: 'foreign' }

/** Faults of the chain, drawn once per flashblock or once per sealed block. */
export type ChainFault =
  /** A flashblock that readers never see: `pending` answers as `latest` until the next flashblock. */
  | { readonly fault: 'lostFlashblock' }
  /** Before a block is sealed, the newest `depth` sealed blocks are removed and replaced. @default 1 */
  | {
      readonly fault: 'reorg'
      readonly depth?: number | undefined
      readonly returnToPool?: boolean | undefined
    }

/** Topics of `eth_subscribe`; the last three exist under `rules: 'base'` only. */
export type SubscriptionTopic =
  | 'newHeads'
  | 'logs'
  | 'newPendingTransactions'
  | 'newFlashblocks'
  | 'newFlashblockTransactions'
  | 'pendingLogs'

/**
 * Faults of the notifications of `eth_subscribe`, drawn once per notification and subscription. For `match`, a
 * notification is a call of the method `eth_subscription` with the parameters `[topic, result]`.
 */
export type NotificationFault = {
  /**
   * - `silentSubscription`: the subscription sends nothing any more; its socket stays open.
   * - `repeatedNotification`: the notification is sent twice.
   * - `skippedNotification`: it is not sent.
   * - `reorderedNotification`: it is sent after the next one of its subscription.
   * - `droppedSocket`: the socket is closed in place of the notification.
   */
  readonly fault:
    | 'silentSubscription'
    | 'repeatedNotification'
    | 'skippedNotification'
    | 'reorderedNotification'
    | 'droppedSocket'
  /** The topic of the subscription. @default all */
  readonly topic?: SubscriptionTopic | undefined
}

/** A fault, and the conditions under which it applies. */
export type FaultRule = FaultMatch & (RequestFault | CallFault | ChainFault | NotificationFault)
/** The name of a fault. */
export type FaultKind = FaultRule['fault']

/** Handle of an injected rule. */
export type FaultHandle = {
  /** Removes the rule. Calling it again does nothing. */
  remove(): void
  /**
   * Number of times that the rule was applied: requests for a request fault, else calls, notifications,
   * flashblocks or blocks.
   */
  readonly hits: number
}

/** Log entry of one faulted call, notification, flashblock or block. */
export type FaultEntry = {
  /** Kind of the fault. */
  readonly fault: FaultKind
  /** The rule as it was injected. */
  readonly rule: FaultRule
  /** Number of the strike over all rules. The calls of one faulted request share a number. */
  readonly strike: number
  /** Method of the call, `eth_subscription` for a notification; absent for a fault of the chain. */
  readonly method?: string
  /** Hash of the signed transaction. */
  readonly hash?: Hex
  /** Nonce of the signed transaction. */
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

const NOTIFICATION: ReadonlySet<FaultKind> = new Set([
  'silentSubscription',
  'repeatedNotification',
  'skippedNotification',
  'reorderedNotification',
  'droppedSocket',
])

export const FAULT_KINDS: ReadonlySet<string> = new Set([
  ...REQUEST,
  ...CALL,
  ...NOTIFICATION,
  'lostFlashblock',
  'reorg',
])

export function isRequestRule(rule: FaultRule): rule is FaultMatch & RequestFault {
  return REQUEST.has(rule.fault)
}

export function isCallRule(rule: FaultRule): rule is FaultMatch & CallFault {
  return CALL.has(rule.fault)
}

export function isNotificationRule(rule: FaultRule): rule is FaultMatch & NotificationFault {
  return NOTIFICATION.has(rule.fault)
}

/** These rules change the result of a send, and do not match reads. */
export function isSendRule(rule: FaultRule): boolean {
  return rule.fault === 'neverPooled' || rule.fault === 'evict' || rule.fault === 'foreign'
}
