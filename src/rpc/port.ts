/** One JSON-RPC call as it goes over the wire: parameters are already encoded. */
export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }

/**
 * Why a call brought no result. `rpc` is the node's own word; the others say that no word of the node was had,
 * which for a send means *unknown*: the bytes may have arrived.
 */
export type RpcFailure =
  /** A JSON-RPC error object for this very call. */
  | { readonly kind: 'rpc'; readonly code: number; readonly message: string; readonly data?: unknown }
  /** An HTTP status other than 2xx, with whatever JSON-RPC error the body held. */
  | {
      readonly kind: 'http'
      readonly status: number
      readonly message: string
      readonly retryAfterMs?: number
      readonly rpc?: { readonly code: number; readonly message: string; readonly data?: unknown }
    }
  /** No answer within the time given. */
  | { readonly kind: 'timeout'; readonly message: string }
  /** The connection failed, before or after the request was written: nobody can tell. */
  | { readonly kind: 'network'; readonly message: string }
  /** An answer came that is not JSON-RPC, or has no part for this call. `cut`: it was too large to be read whole. */
  | { readonly kind: 'malformed'; readonly message: string; readonly cut?: true }
  /** The request was given up on our side (signal, or the port was closed) before anything was written. */
  | { readonly kind: 'aborted'; readonly message: string }
  /** A custom transport rejected without a JSON-RPC error: what happened inside cannot be seen. */
  | { readonly kind: 'custom'; readonly message: string; readonly cause: unknown }

export type RpcReply =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure }

/** Who is served first where an endpoint limits how often it is asked, in this order. */
export type RequestPriority = 'repair' | 'send' | 'evidence' | 'poll' | 'receipt'

export type BatchOptions = {
  /** For a port with a request budget. @default 'evidence' */
  readonly priority?: RequestPriority | undefined
  /**
   * For a port with a request budget: the longest time that an endpoint is left alone although somebody waits, however
   * long it asked for. @default as long as it asked for
   */
  readonly restMsMax?: number | undefined
  /**
   * For a port with a request budget: the answers tell nothing unless they are of one moment. The calls leave together where
   * a second allows so many. @default false: as many as may leave now, and the rest later
   */
  readonly together?: boolean | undefined
  /** Milliseconds until the calls without an answer get a `timeout` failure. @default the port's own, 10,000 */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One URL (or one custom transport) of a node, without hidden retry or fallback.
 *
 * `batch` posts its calls as one request, in order, and answers each by position; it never rejects. The port of a
 * transport does not split or repeat; `limitBatches` does both, for reads.
 */
export type Port = {
  /** Origin of the URL or the transport's name. Safe to print: path, query and credentials are cut. */
  readonly name: string
  readonly kind: 'http' | 'webSocket' | 'custom'
  batch(calls: readonly RpcCall[], options?: BatchOptions): Promise<readonly RpcReply[]>
  /** Counted since the port was made: `requests` are round trips (HTTP posts or frames), `calls` JSON-RPC calls. */
  readonly stats: { readonly requests: number; readonly calls: number }
  /** Gives up its connections. Calls after it get `aborted`. */
  close(): void
}

/** What an endpoint is used for: `send` ones never see a read, `read` ones never see a transaction. */
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
