/** The response to a request. */
export type HttpResponse = {
  /** The HTTP status; 0 for a redirect of which nothing else is known. */
  readonly status: number
  readonly text: string
  /** The header `Retry-After`. */
  readonly retryAfter: string | undefined
}
