const fetchFns = new WeakMap<object, typeof fetch>()

/** The reads of a client use this one: what was given to viem's `http` cannot be seen. The first that is given counts. */
export function readWith(client: object, fetchFn: typeof fetch): void {
  if (!fetchFns.has(client)) fetchFns.set(client, fetchFn)
}

/** Undefined for the global one. */
export function fetchFnOf(client: object): typeof fetch | undefined {
  return fetchFns.get(client)
}
