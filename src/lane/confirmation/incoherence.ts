import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'

/**
 * A single reading of this kind may have met a new block between its two calls, or two different backends.
 */
const READINGS_MIN = 2

/**
 * Doubts the read endpoint if it counts less at `pending` than at `latest`, in two consecutive readings: one
 * of its counts is wrong, and another endpoint may have two counts that agree. Each endpoint is doubted once,
 * because the reader would change for ever if all endpoints had that fault.
 */
export function createIncoherence(
  endpointPool: Pick<EndpointPool, 'reader' | 'doubtReader'>,
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
    endpointPool.doubtReader(
      `the endpoint counts ${pending} nonces at \`pending\`, and ${latest} at \`latest\``,
    )
  }
}
