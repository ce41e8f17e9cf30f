import type { Chain, Hash } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { createStopSignal } from '../../platform/stopSignal.js'
import type { LightHeader } from '../../rpc/codec.js'
import { chainMismatch } from '../../rpc/errors.js'
import { identityCalls, probeEndpoint, showsChain } from '../../rpc/probe.js'
import type { Limits } from '../../types/index.js'
import type { PoolEndpoint } from './endpointPool.js'
import { type Patience, patientPort } from './patientPort.js'
import { isWorthAsking, retryRead } from './retryRead.js'

/** Holds endpoints against the chain that is asked for, and against each other. */
export type Prober = {
  genesis(): Hash | undefined
  /** The newest block that this one showed, when it answered first. */
  newest(endpoint: PoolEndpoint): LightHeader | undefined
  /** For a chain of which no endpoint shows block 0 now. @throws `CHAIN_MISMATCH` where it is known to have another one */
  expect(genesis: Hash): void
  /**
   * A wrong chain anywhere is an error at once. Endpoints are asked for `limits.readyTimeoutMs` until one answers; then
   * those that have failed so far are left out for now.
   */
  first(): Promise<void>
  /** What asks an endpoint which chain it is on, and what the answers mean. */
  readonly identity: {
    readonly calls: typeof identityCalls
    /** Undefined where they say nothing. */
    holds(replies: Parameters<typeof showsChain>[0]): boolean | undefined
  }
  /**
   * Asks those that are left out until they answer as they should: less and less often, or each second where one of them is
   * the one that is read.
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
  /** Nobody waits any more for the first answers. */
  readonly isClosing: () => boolean
  /** One that was left out answers as it should. */
  readonly answered: (endpoint: PoolEndpoint) => void
  /** The lane reads this one, and no other took its place. */
  readonly isRead: (endpoint: PoolEndpoint) => boolean
}): Prober {
  const { endpoints, chain, limits, clock, isClosing, isRead } = parts
  const newest = new Map<PoolEndpoint, LightHeader>()
  let genesis: Hash | undefined
  let cancel: CancelTimer | undefined
  let delayMs = AGAIN_MS
  let stopped = false
  let endFirst = () => {}

  async function probe(endpoint: PoolEndpoint, port = endpoint.port): Promise<void> {
    const found = await probeEndpoint(port, {
      expectChainId: chain.id,
      expectGenesisHash: genesis,
      profile: endpoint.profile,
      timeoutMs: limits.readTimeoutMs,
    })
    // Never from one that only sends: whether it answers, today, would name the lane.
    if (endpoint.role !== 'send') sameGenesis(endpoint, found.genesisHash)
    endpoint.probed = true
    newest.set(endpoint, found.latest)
    if (endpoint.role !== 'send') void askClient(endpoint)
  }

  /** Nobody waits for it: an endpoint that does not say what it is is treated like any other. */
  async function askClient({ port, profile }: PoolEndpoint): Promise<void> {
    const call = { method: 'web3_clientVersion', params: [] }
    const [reply] = await port.batch([call], { timeoutMs: limits.readTimeoutMs })
    if (reply?.ok && typeof reply.result === 'string')
      profile.observe({ kind: 'client', version: reply.result })
  }

  /** Endpoints are asked at once: which of them answers first must not matter. */
  function sameGenesis({ port }: PoolEndpoint, shown: Hash | undefined): void {
    genesis ??= shown
    if (shown !== undefined && shown !== genesis)
      throw chainMismatch(port.name, 'genesis hash', String(genesis), shown)
  }

  /** Resolves as soon as the lane can be opened: one endpoint answers, and each other has had its chance. */
  function probeReaders(): Promise<void> {
    const asked = endpoints.filter((endpoint) => endpoint.role !== 'send' && !endpoint.probed)
    const readers = endpoints.filter(({ role }) => role !== 'send')
    // What each said last that is not known yet. It has no entry before its first answer.
    const said = new Map<PoolEndpoint, unknown>()
    const settled = new Set<PoolEndpoint>()
    let isOver = false
    // What still rests between two questions wakes at once when no answer is waited for any more.
    const enough = createStopSignal(closedWhileOpening)
    endFirst = enough.stop
    const patience: Patience = {
      clock,
      untilMs: clock.now() + limits.readyTimeoutMs,
      stop: { stopped: () => enough.stopped() || isClosing(), listen: enough.listen },
    }
    return new Promise((resolve, reject) => {
      function end(settle: () => void): void {
        if (isOver) return
        isOver = true
        enough.stop()
        settle()
      }
      function check(): void {
        if (isOver) return
        const isKnown = (endpoint: PoolEndpoint) => endpoint.probed || said.has(endpoint)
        const failed = readers.filter(({ probed }) => !probed)
        // What the lane is called may not hang on who happened to answer: another may know the genesis.
        const isEnough = failed.length < readers.length && (genesis !== undefined || failed.length === 0)
        if (isEnough && readers.every(isKnown)) return end(resolve)
        if (settled.size < asked.length) return
        end(() => reject(isClosing() ? closedWhileOpening() : unreachable(failed, said)))
      }
      async function ask(endpoint: PoolEndpoint): Promise<void> {
        const port = patientPort(endpoint.port, patience, {
          isOptional: ({ params }) => params[0] === 'pending',
          onFailure(failure) {
            said.set(endpoint, failure)
            check()
          },
        })
        try {
          await retryRead(() => probe(endpoint, port), patience)
        } catch (error) {
          if (error instanceof TxlaneError && error.code === 'CHAIN_MISMATCH') end(() => reject(error))
          said.set(endpoint, error)
        }
        settled.add(endpoint)
        check()
      }
      for (const endpoint of asked) void ask(endpoint)
      check()
    })
  }

  /** After the readers, which tell what the others are held against. */
  async function probeSenders(): Promise<void> {
    for (const endpoint of endpoints) {
      if (endpoint.probed || endpoint.role !== 'send') continue
      try {
        await probe(endpoint)
      } catch (error) {
        if (error instanceof TxlaneError && error.code === 'CHAIN_MISMATCH') throw error
        // Private endpoints often serve nothing but sends: there is no chain id to hold against ours.
        endpoint.probed = true
      }
    }
  }

  async function round(): Promise<void> {
    for (const endpoint of endpoints) {
      if (endpoint.probed || stopped) continue
      // A chain id that does not fit keeps it out as well, for as long as it answers so.
      await probe(endpoint).then(
        () => parts.answered(endpoint),
        () => {},
      )
    }
    // Without the one that is read the lane sees no block.
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
      if (endpoints.some(({ role }) => role !== 'send')) await probeReaders()
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

/** Names each endpoint and what it said last. The cause is a failure after which asking again is worth it, if any. */
function unreachable(failed: readonly PoolEndpoint[], said: ReadonlyMap<PoolEndpoint, unknown>): TxlaneError {
  const lines = failed.map((endpoint) => `${endpoint.port.name} said: ${wordsOf(said.get(endpoint))}`)
  const causes = failed.map((endpoint) => said.get(endpoint)).filter((one) => one instanceof Error)
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
