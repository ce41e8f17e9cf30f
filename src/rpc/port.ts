/** One JSON-RPC call as sent on the wire; its parameters are already encoded. */
export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }

/**
 * The reason why a call has no result. `rpc` is an answer of the node itself. The others mean that the node
 * gave no answer; for a send the result is *unknown* then, because the bytes may have arrived.
 */
export type RpcFailure =
  /** A JSON-RPC error object for this call. */
  | { readonly kind: 'rpc'; readonly code: number; readonly message: string; readonly data?: unknown }
  /** An HTTP status other than 2xx, with the JSON-RPC error in the body, if any. */
  | {
      readonly kind: 'http'
      readonly status: number
      readonly message: string
      readonly retryAfterMs?: number
      readonly rpc?: { readonly code: number; readonly message: string; readonly data?: unknown }
    }
  /** No answer within the timeout. */
  | { readonly kind: 'timeout'; readonly message: string }
  /** The connection failed. It is unknown whether the request was written before that. */
  | { readonly kind: 'network'; readonly message: string }
  /** The answer is not JSON-RPC, or has no part for this call. `cut`: it was too large to be read in full. */
  | { readonly kind: 'malformed'; readonly message: string; readonly cut?: true }
  /**
   * This side gave up the request (by signal, or because the port was closed) before any byte was written.
   */
  | { readonly kind: 'aborted'; readonly message: string }
  /** A custom transport rejected without a JSON-RPC error. The cause inside the transport is not visible. */
  | { readonly kind: 'custom'; readonly message: string; readonly cause: unknown }

export type RpcReply =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure }

/**
 * The order in which requests are served if an endpoint has a request budget; the first has the highest
 * priority.
 */
export type RequestPriority = 'repair' | 'send' | 'evidence' | 'poll' | 'receipt'

export type BatchOptions = {
  /** For a port with a request budget: the priority of the request. @default 'evidence' */
  readonly priority?: RequestPriority | undefined
  /**
   * For a port with a request budget: the maximum milliseconds for which the endpoint is left alone while a
   * request waits, even if it asked for a longer pause. @default as long as it asked for
   */
  readonly restMsMax?: number | undefined
  /**
   * For a port with a request budget: the answers are only useful if they are from one moment. If the budget
   * allows that many calls in one second, they leave together. @default false: as many as the budget allows
   * leave now, and the rest later
   */
  readonly together?: boolean | undefined
  /**
   * Milliseconds after which the calls without an answer get a `timeout` failure. @default the port's own,
   * 10,000
   */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One URL (or one custom transport) of a node, without hidden retry or fallback.
 *
 * `batch` posts its calls as one request, in order, and answers each by position; it never rejects. The port
 * of a transport does not split or repeat calls; `limitBatches` does both, for reads.
 */
export type Port = {
  /**
   * The origin of the URL or the name of the transport. Safe to print, because path, query and credentials
   * are removed.
   */
  readonly name: string
  readonly kind: 'http' | 'webSocket' | 'custom'
  batch(calls: readonly RpcCall[], options?: BatchOptions): Promise<readonly RpcReply[]>
  /** Undefined if the transport receives answers only. */
  readonly notifications?: Notifications | undefined
  /**
   * Counters since the creation of the port: `requests` are round trips (HTTP posts or frames), `calls`
   * JSON-RPC calls.
   */
  readonly stats: { readonly requests: number; readonly calls: number }
  /** Closes the connections. Later calls get `aborted`. */
  close(): void
}

/** The messages that an endpoint sends on its own: the notifications of `eth_subscribe`. */
export type Notifications = {
  /** Returns a function that removes the listener. */
  listen(listener: NotificationListener): () => void
  /**
   * The URL of the connection, undefined before the first one. Ports with the same URL reach the same endpoint.
   * It may contain secrets.
   */
  readonly url: string | undefined
}

export type NotificationListener = {
  /** The result of a notification, and the id with which the endpoint answered its `eth_subscribe`. */
  notified(subscription: string, result: unknown): void
  /** A connection was closed, and its subscriptions with it. */
  closed(): void
}

/** The use of an endpoint: `send` endpoints never get a read, `read` endpoints never get a transaction. */
export type EndpointRole = 'both' | 'read' | 'send'

/** Posts one call and returns its reply. */
export async function call(
  port: Port,
  method: string,
  params: readonly unknown[],
  options?: BatchOptions,
): Promise<RpcReply> {
  const [reply] = await port.batch([{ method, params }], options)
  return reply ?? { ok: false, failure: { kind: 'malformed', message: `no answer for ${method}` } }
}
