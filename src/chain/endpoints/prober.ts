import type { Chain, Hash } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { closedWhileOpening } from '../../platform/registry.js'
import type { LightHeader } from '../../rpc/codec.js'
import { chainMismatch } from '../../rpc/errors.js'
import { probeTraits } from '../../rpc/methods/probeTraits.js'
import type { Port } from '../../rpc/port.js'
import { identityCalls, probeEndpoint, showsChain } from '../../rpc/probe.js'
import type { Limits } from '../../types/index.js'
import type { PoolEndpoint } from './endpointPool.js'
import { isWorthAsking, type Patience, patientPort, retryRead } from './patientPort.js'

/** Compares endpoints with the wanted chain, and with each other. */
export type Prober = {
  genesis(): Hash | undefined
  /** The newest block of the endpoint at its first answer. */
  newest(endpoint: PoolEndpoint): LightHeader | undefined
  /** Sets the genesis of a chain whose block 0 no endpoint shows now. @throws `CHAIN_MISMATCH` if another one is known */
  expect(genesis: Hash): void
  /**
   * Probes all endpoints. Any endpoint on a wrong chain is an error at once. Endpoints are asked for `limits.readyTimeoutMs`
   * until one answers; failed ones are left out for now.
   */
  first(): Promise<void>
  /** The calls that ask an endpoint for its chain, and the meaning of the answers. */
  readonly identity: {
    readonly calls: typeof identityCalls
    /** Undefined if the answers show no chain. */
    holds(replies: Parameters<typeof showsChain>[0]): boolean | undefined
  }
  /**
   * Probes the endpoints that are left out until they answer with the right chain: less and less often, or each second if
   * one of them is the reader.
   */
  again(): void
  stop(): void
}

const AGAIN_MS = 1_000
const AGAIN_MS_MAX = 60_000

export function createProber(parts: {
  readonly endpoints: readonly PoolEndpoint[]
  readonly chain: Chain
  readonly limits: Limits
  readonly clock: Clock
  /** Aborted once no caller waits for the first answers any more. */
  readonly closing: AbortSignal | undefined
  /** An endpoint that was left out answers with the right chain. */
  readonly answered: (endpoint: PoolEndpoint) => void
  /** The endpoint is the reader, and no other took its place. */
  readonly isRead: (endpoint: PoolEndpoint) => boolean
}): Prober {
  const { endpoints, chain, limits, clock, closing, isRead } = parts
  const newest = new Map<PoolEndpoint, LightHeader>()
  let genesis: Hash | undefined
  let cancel: CancelTimer | undefined
  let delayMs = AGAIN_MS
  let stopped = false
  let endFirst = () => {}

  async function probe(endpoint: PoolEndpoint, port = endpoint.port, signal?: AbortSignal): Promise<void> {
    const found = await probeEndpoint(port, {
      expectChainId: chain.id,
      expectGenesisHash: genesis,
      profile: endpoint.profile,
      timeoutMs: limits.readTimeoutMs,
      signal,
    })
    // Never from an endpoint that only sends: the name of the lane must not depend on whether it answers today.
    if (endpoint.role !== 'send') sameGenesis(endpoint, found.genesisHash)
    endpoint.probed = true
    newest.set(endpoint, found.latest)
    if (endpoint.role !== 'send') void askTraits(endpoint, found.latest.number, limits.readTimeoutMs)
  }

  /** All endpoints are asked at the same time, and the order of their answers must not matter. */
  function sameGenesis({ port }: PoolEndpoint, shown: Hash | undefined): void {
    genesis ??= shown
    if (shown !== undefined && shown !== genesis)
      throw chainMismatch(port.name, 'genesis hash', String(genesis), shown)
  }

  async function probeReaders(): Promise<void> {
    const readers = endpoints.filter(({ role }) => role !== 'send')
    if (readers.length === 0) return
    // The pauses between repeated reads end at once when no answer is awaited any more.
    const enough = new AbortController()
    const ended = () => enough.abort()
    endFirst = ended
    const offClosing = closing && onAbort(closing, ended)
    if (closing?.aborted) ended()
    const untilMs = clock.now() + limits.readyTimeoutMs
    const patience: Patience = { clock, untilMs, stop: enough.signal }
    const knowsGenesis = () => genesis !== undefined
    await firstAnswers({ readers, patience, probe, knowsGenesis, closing, ended }).finally(offClosing)
  }

  /** Runs after the readers, which show the chain that these endpoints are compared with. */
  async function probeSenders(): Promise<void> {
    for (const endpoint of endpoints) {
      if (endpoint.probed || endpoint.role !== 'send') continue
      try {
        await probe(endpoint, endpoint.port, closing)
      } catch (error) {
        if (closing?.aborted) throw closedWhileOpening()
        if (error instanceof TxlaneError && error.code === 'CHAIN_MISMATCH') throw error
        // Private endpoints often serve only sends: they show no chain id.
        endpoint.probed = true
      }
    }
  }

  async function round(): Promise<void> {
    for (const endpoint of endpoints) {
      if (endpoint.probed || stopped) continue
      // A wrong chain id keeps the endpoint out too, as long as it answers so.
      await probe(endpoint).then(
        () => parts.answered(endpoint),
        () => {},
      )
    }
    // Without its reader the lane sees no block.
    const isBlind = endpoints.some((endpoint) => !endpoint.probed && isRead(endpoint))
    delayMs = isBlind ? AGAIN_MS : Math.min(AGAIN_MS_MAX, delayMs * 2)
    cancel = undefined
    plan()
  }

  function plan(): void {
    if (stopped || cancel !== undefined || endpoints.every((endpoint) => endpoint.probed)) return
    cancel = clock.setTimer(() => void round(), delayMs)
  }

  return {
    genesis: () => genesis,
    newest: (endpoint) => newest.get(endpoint),
    expect(wanted) {
      genesis ??= wanted
      if (genesis !== wanted) throw chainMismatch('the endpoints', 'genesis hash', wanted, genesis)
    },
    async first() {
      await probeReaders()
      await probeSenders()
    },
    identity: { calls: identityCalls, holds: (replies) => showsChain(replies, chain.id, genesis) },
    again() {
      delayMs = AGAIN_MS
      plan()
    },
    stop() {
      stopped = true
      endFirst()
      cancel?.()
    },
  }
}

/**
 * Asks for the client, and whether state at `pending` is served. No caller waits for the answer: an endpoint that
 * shows neither is treated like any other.
 */
async function askTraits({ port, profile }: PoolEndpoint, latest: number, timeoutMs: number): Promise<void> {
  await probeTraits(port, profile, latest, { timeoutMs }).catch(() => {})
}

/**
 * Probes the endpoints that are read, all at once. Resolves as soon as the lane can be opened: one endpoint answers, and each
 * other one has answered or failed once.
 *
 * @throws TxlaneError `CHAIN_MISMATCH` if an endpoint is on another chain, `UNREACHABLE` if none answers in time, `CLOSED`
 */
function firstAnswers(parts: {
  readonly readers: readonly PoolEndpoint[]
  readonly patience: Patience
  readonly probe: (endpoint: PoolEndpoint, port: Port, signal: AbortSignal | undefined) => Promise<void>
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
        await retryRead(() => parts.probe(endpoint, port, closing), patience)
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
