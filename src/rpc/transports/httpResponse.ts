/** What came back of a request. */
export type Posted = {
  /** The HTTP status; 0 where a redirect is all that is known. */
  readonly status: number
  readonly text: string
  /** The header `Retry-After`. */
  readonly retryAfter: string | undefined
}
