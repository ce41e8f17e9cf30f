const fetchFns = new WeakMap<object, typeof fetch>()

/**
 * Sets the `fetch` for the reads of a client, because the function given to viem's `http` is not visible. The
 * first one set counts.
 */
export function readWith(client: object, fetchFn: typeof fetch): void {
  if (!fetchFns.has(client)) fetchFns.set(client, fetchFn)
}

/** The `fetch` for a client's reads; undefined for the global one. */
export function fetchFnOf(client: object): typeof fetch | undefined {
  return fetchFns.get(client)
}
