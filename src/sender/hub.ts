import type { Chain, Client, Hash, Transport } from 'viem'
import { TxlaneError } from '../errors/base.js'
import type { LightHeader } from '../rpc/codec.js'
import type { Port } from '../rpc/port.js'
import { probeEndpoint } from '../rpc/probe.js'
import { createProfile, type ProfileWatch } from '../rpc/profile.js'
import { setProfile } from '../rpc/profileOf.js'
import { createTracker, type Tracker } from '../tracker/tracker.js'
import type { Endpoint, Limits } from '../types.js'
import type { Environment } from './environment.js'

/** One URL and what is known of it. */
export type HubEndpoint = {
  readonly port: Port
  readonly role: 'both' | 'read' | 'send'
  readonly profile: ProfileWatch
  /** It answered a probe with the right chain. What never did is not used. */
  probed: boolean
  /** Not to be asked before this time: it said that it is asked too often. */
  restUntilMs: number
}

/**
 * What lanes on one chain through one set of endpoints share: the ports, the profiles and the one poller.
 */
export type Hub = {
  readonly chainId: number
  readonly genesisHash: Hash
  readonly client: Client<Transport, Chain>
  readonly chain: Chain
  readonly endpoints: readonly HubEndpoint[]
  /** The endpoint that the poller reads: counts and blocks come from one view of the chain. */
  readonly reader: HubEndpoint
  readonly tracker: Tracker
  /** Endpoints that take transactions, in the order in which they are tried. */
  senders(): readonly HubEndpoint[]
  onEndpoint(listener: (endpoint: HubEndpoint) => void): () => void
  stop(): void
}

// A chain whose node does not show block 0 is told apart by its id alone.
const NO_GENESIS: Hash = `0x${'0'.repeat(64)}`

/** Probes the endpoints, holds them against the chain that is asked for, and makes the poller. */
export async function openHub(options: {
  client: Client<Transport, Chain>
  endpoints: readonly Endpoint[]
  limits: Limits
  environment: Environment
}): Promise<Hub> {
  const { client, limits, environment } = options
  const endpoints = endpointsOf(options)
  const prober = createProber(endpoints, client.chain, limits)
  await prober.first()
  const reader = endpoints.find((endpoint) => endpoint.probed && endpoint.role !== 'send')
  if (reader === undefined) throw noReader(endpoints)
  const listeners = new Set<(endpoint: HubEndpoint) => void>()
  const tell = (endpoint: HubEndpoint) => {
    for (const listener of listeners) listener(endpoint)
  }
  for (const endpoint of endpoints) endpoint.profile.onChange(() => tell(endpoint))
  const stopProbing = probeAgain(prober, endpoints, environment, tell)
  const tracker = createTracker({
    port: reader.port,
    clock: environment.clock,
    cadenceMs: () => reader.profile.current().cadenceMs ?? limits.pollIntervalMs,
    pending: () => pendingReads(reader.profile, tracker.head?.number ?? 0),
    onPendingBlock: (block, latest) => observePending(reader.profile, block, latest),
    timeoutMs: limits.readTimeoutMs,
    horizon: limits.reorgHorizon,
  })
  reader.profile.onChange(() => tracker.lookAgain())
  return {
    chainId: client.chain.id,
    genesisHash: prober.genesis() ?? NO_GENESIS,
    client,
    chain: client.chain,
    endpoints,
    reader,
    tracker,
    senders: () => endpoints.filter((endpoint) => endpoint.role !== 'read' && endpoint.probed),
    onEndpoint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop() {
      stopProbing()
      tracker.stop()
      for (const endpoint of endpoints) endpoint.port.close()
    },
  }
}

/** `send` endpoints first: who names one wants transactions to go there. */
function endpointsOf(options: Parameters<typeof openHub>[0]): HubEndpoint[] {
  const { client, endpoints, environment } = options
  const own: Endpoint = { client }
  return [
    ...endpoints.filter((e) => e.role === 'send'),
    own,
    ...endpoints.filter((e) => e.role !== 'send'),
  ].flatMap((endpoint) =>
    environment.portsOf(endpoint.client, endpoint).map(({ port, role }): HubEndpoint => {
      const profile = createProfile(endpoint.profile ?? {})
      // What plain reads through this port learn goes into the same profile.
      setProfile(port, profile)
      return { port, role, profile, probed: false, restUntilMs: 0 }
    }),
  )
}

/** Holds endpoints against the chain that is asked for, and against each other. */
function createProber(endpoints: readonly HubEndpoint[], chain: Chain, limits: Limits) {
  let genesis: Hash | undefined

  async function probe(endpoint: HubEndpoint): Promise<void> {
    const found = await probeEndpoint(endpoint.port, {
      expectChainId: chain.id,
      expectGenesisHash: genesis,
      profile: endpoint.profile,
      timeoutMs: limits.readTimeoutMs,
    })
    // Never from one that only sends: whether it answers, today, would name the lane.
    if (endpoint.role !== 'send') genesis ??= found.genesisHash
    endpoint.probed = true
  }

  return {
    probe,
    genesis: () => genesis,
    /** A wrong chain anywhere is an error at once; an endpoint that does not answer is left out for now. */
    async first(): Promise<void> {
      const failures: unknown[] = []
      // Readers first: they tell what the others are held against.
      const only = (sends: boolean) => endpoints.filter(({ role }) => (role === 'send') === sends)
      for (const endpoint of [...only(false), ...only(true)]) {
        try {
          await probe(endpoint)
        } catch (error) {
          if (error instanceof TxlaneError && error.code === 'CHAIN_MISMATCH') throw error
          // Private endpoints often serve nothing but sends: there is no chain id to hold against ours.
          if (endpoint.role === 'send') endpoint.probed = true
          else failures.push(error)
        }
      }
      // What the lane is called may not hang on who happened to answer: another may know the genesis.
      const nameless = genesis === undefined && failures.length > 0
      if (nameless || endpoints.every((endpoint) => !endpoint.probed)) throw unreachable(failures[0])
    },
  }
}

const PROBE_AGAIN_MS = 1_000
const PROBE_AGAIN_MS_MAX = 60_000

/** Asks those that did not answer again, less and less often, until they do. */
function probeAgain(
  prober: ReturnType<typeof createProber>,
  endpoints: readonly HubEndpoint[],
  { clock }: Environment,
  answered: (endpoint: HubEndpoint) => void,
): () => void {
  let cancel: (() => void) | undefined
  let stopped = false

  async function round(delayMs: number): Promise<void> {
    for (const endpoint of endpoints) {
      if (endpoint.probed || stopped) continue
      // A chain id that does not fit keeps it out as well, for as long as it answers so.
      await prober.probe(endpoint).then(
        () => answered(endpoint),
        () => {},
      )
    }
    plan(Math.min(PROBE_AGAIN_MS_MAX, delayMs * 2))
  }

  function plan(delayMs: number): void {
    if (stopped || endpoints.every((endpoint) => endpoint.probed)) return
    cancel = clock.setTimer(() => void round(delayMs), delayMs)
  }

  plan(PROBE_AGAIN_MS)
  return () => {
    stopped = true
    cancel?.()
  }
}

/** Blocks after which an endpoint that showed no pending block of its own is looked at again. */
const LOOK_AGAIN_BLOCKS = 16

function pendingReads(profile: ProfileWatch, head: number): { block: boolean; count: boolean } {
  const { pending } = profile.current()
  const without = pending === 'absent' || pending === 'latest'
  return {
    block: pending === 'preconfirmed' || pending === 'unknown' || (without && head % LOOK_AGAIN_BLOCKS === 0),
    count: pending === 'mempool' || pending === 'unknown',
  }
}

function observePending(profile: ProfileWatch, block: LightHeader | null | 'refused', latest: number): void {
  if (block === null || block === 'refused') return profile.observe({ kind: 'pendingMissing' })
  profile.observe({
    kind: 'pendingBlock',
    number: block.number,
    hash: block.hash,
    latestNumber: latest,
    latestHash: null,
  })
}

function unreachable(cause: unknown): TxlaneError {
  return new TxlaneError('No endpoint answered.', { code: 'REJECTED', fate: 'notExecuted', cause })
}

function noReader(endpoints: readonly HubEndpoint[]): TxlaneError {
  return new TxlaneError('No endpoint can be read from.', {
    code: 'INVALID',
    fate: 'notExecuted',
    metaMessages: endpoints.map((endpoint) => `${endpoint.port.name}: role ${endpoint.role}`),
  })
}
