/** Probabilities from 0 to 1, drawn for each request, or for each call if the comment says so. */
export type Faults = {
  /** The request never arrives: the connection fails after a while. */
  lostRequest: number
  /** The request arrives and is executed; the answer is lost. */
  lostResponse: number
  /** The request arrives only after the caller has given up. */
  late: number
  /** The answer takes up to `delayMsMax` longer: requests overtake each other. */
  delay: number
  /** HTTP 429 with Retry-After; nothing is executed. */
  http429: number
  /** HTTP 503, half of the time after the execution. */
  http503: number
  /** An answer that is not JSON-RPC, after the execution. */
  brokenBody: number
  /** The second half of a batch is executed later than the first. */
  torn: number
  /** The request is answered from an older view. */
  staleRead: number
  /** Per call: -32016, over rate limit. */
  rateLimited: number
  /** Per call: a count at a tag is answered from an older view than the rest. */
  countBackwards: number
  /**
   * A count at a tag is answered too high, by 1 to 5. Longer errors are timed faults (`timedFault.ts`).
   */
  poisonedCount: number
  /** A call's result has the wrong shape. */
  malformed: number
  /** A send is answered with its hash, and never reaches the pool. */
  neverPooled: number
  /** A send of known bytes is answered with its hash, and ignored. */
  swallowed: number
  /** A send is refused for a reason of the node's own, which says nothing about the bytes, and ignored. */
  moody: number
}

export const NO_FAULTS: Readonly<Faults> = {
  lostRequest: 0,
  lostResponse: 0,
  late: 0,
  delay: 0,
  http429: 0,
  http503: 0,
  brokenBody: 0,
  torn: 0,
  staleRead: 0,
  rateLimited: 0,
  countBackwards: 0,
  poisonedCount: 0,
  malformed: 0,
  neverPooled: 0,
  swallowed: 0,
  moody: 0,
}
