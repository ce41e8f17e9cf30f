import type { Client } from 'viem'

/**
 * A node to talk to. Only the URLs of a client's transport are used; viem's own retry and fallback are not.
 */
export type Endpoint = {
  /**
   * A viem client of the chain. Its transport gives the address of the node; an account in it is not used.
   */
  client: Client
  /**
   * `read` endpoints never receive a transaction. `send` endpoints are asked once for their chain id, and
   * never for anything else. They are tried first, and only they receive a transaction marked `private`. One
   * reading endpoint is used at a time: the healthiest, until it has been bad for a while. @default 'both'
   */
  role?: 'both' | 'read' | 'send' | undefined
  /**
   * Replaces the global `fetch`. Without it, Node's own `fetch` is bypassed: requests go directly to the
   * undici dispatcher under it. @default the global `fetch`
   */
  fetchFn?: typeof fetch | undefined
  /** Known properties of the endpoint. The other properties are found by probing and observation. */
  profile?: Partial<EndpointProfileInput> | undefined
}

/**
 * The parts of an endpoint profile that the caller can set. A given value is believed and never probed. The
 * other parts are learned, because they may change: how many transactions an endpoint keeps above a missing
 * nonce, and how large a batch it accepts. Two refusals teach each of them.
 */
export type EndpointProfileInput = {
  /** The transactions that `eth_getTransactionCount` at `pending` counts. */
  pending: 'mempool' | 'preconfirmed' | 'latest' | 'absent'
  /**
   * True if plain reads of code and storage at `pending` show the pre-confirmed state. If false, they are read
   * by `eth_call` at `pending`.
   */
  pendingState: boolean
  /** True if `eth_getBlockReceipts` is to be used. */
  blockReceipts: boolean
  /** True if `eth_simulateV1` is to be used. */
  simulateV1: boolean
}
