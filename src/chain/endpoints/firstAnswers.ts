import { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Port } from '../../rpc/port.js'
import type { PoolEndpoint } from './endpointPool.js'
import { type Patience, patientPort } from './patientPort.js'
import { isWorthAsking, retryRead } from './retryRead.js'

/**
 * Probes the endpoints that are read, all at once. Resolves as soon as the lane can be opened: one endpoint answers, and each
 * other one has answered or failed once.
 *
 * @throws TxlaneError `CHAIN_MISMATCH` if an endpoint is on another chain, `UNREACHABLE` if none answers in time, `CLOSED`
 */
export function firstAnswers(parts: {
  readonly readers: readonly PoolEndpoint[]
  readonly patience: Patience
  readonly probe: (endpoint: PoolEndpoint, port: Port) => Promise<void>
  /** The name of the lane contains the genesis hash: it must not depend on which endpoint happens to answer. */
  readonly knowsGenesis: () => boolean
  /** Aborted once no caller waits for the first answers any more. */
  readonly closing: AbortSignal | undefined
  /** Called once no answer is awaited any more. */
  readonly ended: () => void
}): Promise<void> {
  const { readers, patience, closing } = parts
  const asked = readers.filter(({ probed }) => !probed)
  // The last failure of each endpoint that has not answered yet.
  const failures = new Map<PoolEndpoint, unknown>()
  const settled = new Set<PoolEndpoint>()
  let isOver = false
  return new Promise((resolve, reject) => {
    function end(settle: () => void): void {
      if (isOver) return
      isOver = true
      parts.ended()
      settle()
    }
    function check(): void {
      if (isOver) return
      const isKnown = (endpoint: PoolEndpoint) => endpoint.probed || failures.has(endpoint)
      const failed = readers.filter(({ probed }) => !probed)
      const isEnough = failed.length < readers.length && (parts.knowsGenesis() || failed.length === 0)
      if (isEnough && readers.every(isKnown)) return end(resolve)
      if (settled.size < asked.length) return
      end(() => reject(closing?.aborted ? closedWhileOpening() : unreachable(failed, failures)))
    }
    async function ask(endpoint: PoolEndpoint): Promise<void> {
      const port = patientPort(endpoint.port, patience, {
        isOptional: ({ params }) => params[0] === 'pending',
        onFailure(failure) {
          failures.set(endpoint, failure)
          check()
        },
      })
      try {
        await retryRead(() => parts.probe(endpoint, port), patience)
      } catch (error) {
        if (error instanceof TxlaneError && error.code === 'CHAIN_MISMATCH') end(() => reject(error))
        failures.set(endpoint, error)
      }
      settled.add(endpoint)
      check()
    }
    for (const endpoint of asked) void ask(endpoint)
    check()
  })
}

/** Names each endpoint with its last failure. The cause is a failure that is worth a retry, if there is one. */
function unreachable(
  failed: readonly PoolEndpoint[],
  failures: ReadonlyMap<PoolEndpoint, unknown>,
): TxlaneError {
  const lines = failed.map((endpoint) => `${endpoint.port.name} said: ${wordsOf(failures.get(endpoint))}`)
  const causes = failed.map((endpoint) => failures.get(endpoint)).filter((one) => one instanceof Error)
  return new TxlaneError('No endpoint answered.', {
    code: 'UNREACHABLE',
    fate: 'notExecuted',
    cause: causes.find(isWorthAsking) ?? causes[0],
    details: lines.join('; '),
    metaMessages: lines,
  })
}

function wordsOf(said: unknown): string {
  const { message } = (said ?? {}) as { message?: unknown }
  return quoteOf(said instanceof Error ? said : typeof message === 'string' ? message : 'nothing')
}

function closedWhileOpening(): TxlaneError {
  return new TxlaneError('It was closed before an endpoint answered.', {
    code: 'CLOSED',
    fate: 'notExecuted',
  })
}
