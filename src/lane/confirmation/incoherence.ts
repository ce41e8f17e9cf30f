import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'

/** One such reading may have met a block between its two calls, or two backends. */
const READINGS_MIN = 2

/**
 * Doubts the endpoint that is read where it counts less at `pending` than at `latest`, in two readings in a row: one of
 * its counts errs, and another endpoint may have two that agree. Each endpoint is doubted once: where all of them count
 * so, the reader would change for ever.
 */
export function createIncoherence(
  endpointPool: Pick<EndpointPool, 'reader' | 'doubt'>,
): (counts: { readonly latest: number; readonly pending: number | undefined }) => void {
  const doubted = new Set<PoolEndpoint>()
  let inARow: { readonly endpoint: PoolEndpoint; readonly readings: number } | undefined
  return ({ latest, pending }) => {
    if (pending === undefined) return
    const endpoint = endpointPool.reader
    const before = inARow?.endpoint === endpoint ? inARow.readings : 0
    inARow = pending < latest ? { endpoint, readings: before + 1 } : undefined
    if (inARow === undefined || inARow.readings < READINGS_MIN || doubted.has(endpoint)) return
    doubted.add(endpoint)
    endpointPool.doubt(`the endpoint counts ${pending} nonces at \`pending\`, and ${latest} at \`latest\``)
  }
}
