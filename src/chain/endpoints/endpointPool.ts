import type { Address, Chain, Client, Hash, Transport } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { stoppableClock } from '../../platform/clock.js'
import { createTurns, type Turns } from '../../platform/turns.js'
import { limitBatches, READ_BATCH_MAX } from '../../rpc/limitBatches.js'
import { type LaneReading, readLane } from '../../rpc/methods/readLane.js'
import type { Port } from '../../rpc/port.js'
import { createProfile, type ProfileWatch } from '../../rpc/profile.js'
import { setProfile } from '../../rpc/profileOf.js'
import { seenPendingBlock } from '../../rpc/profileRules.js'
import type { Endpoint, EndpointEvent, Limits } from '../../types/index.js'
import { createTracker, type Tracker } from '../blocks/blockPoller.js'
import type { Environment } from '../environment.js'
import { budgetedPort } from './budgetedPort.js'
import { clientPortsOf } from './clientPortsOf.js'
import { createDataFees, type DataFees } from './dataFees.js'
import { shareDeliveries } from './deliveries.js'
import { createEndpointSelector } from './endpointSelector.js'
import { createFeeHistory, type FeeHistory } from './feeHistory.js'
import { type HeldGate, holdGate } from './gates.js'
import { createProber } from './prober.js'
import { createReceipts, type Receipts } from './receipts.js'
import type { RequestGate } from './requestGate.js'
import { hasSingleSequencer } from './singleSequencer.js'
import { type Trouble, watchTrouble } from './trouble.js'

/** One URL and what is known of it. */
export type PoolEndpoint = {
  /** For reads: within the request budget, in batches that the endpoint takes. */
  readonly port: Port
  /** For what asks the request budget itself: each batch is one request. */
  readonly plain: Port
  readonly gate: RequestGate
  readonly role: 'both' | 'read' | 'send'
  readonly profile: ProfileWatch
  /** It answered a probe with the right chain, and showed no other since. What is not probed is not used. */
  probed: boolean
  /** What is wrong with its answers, where they are of no use. */
  readonly trouble: Trouble | undefined
  /** See `TroubleWatch`. */
  nonsense(said: string | false): void
  /** It left a send without an answer: until then nobody waits for its word on one. */
  silentUntilMs: number
}

type OnEndpoint = (endpoint: PoolEndpoint, change: EndpointEvent['change'], reason?: string) => void

/**
 * What lanes on one chain through one set of endpoints share: the ports, the profiles and the one poller.
 */
export type EndpointPool = {
  readonly chainId: number
  /** Undefined where no endpoint showed block 0 when the hub was opened. `chainOf` names the chain. */
  readonly genesisHash: Hash | undefined
  /** See `Prober`. */
  expectGenesis(genesis: Hash): void
  readonly client: Client<Transport, Chain>
  readonly chain: Chain
  readonly endpoints: readonly PoolEndpoint[]
  /**
   * The endpoint that is read now: counts and blocks come from one view of the chain. Another may take its place at
   * any time: to be looked up for each request, and what belongs together asked of one.
   */
  readonly reader: PoolEndpoint
  readonly tracker: Tracker
  readonly receipts: Receipts
  readonly feeHistory: FeeHistory
  readonly dataFees: DataFees
  /** Bursts of its lanes let the event loop turn. */
  readonly turns: Turns
  /** Other endpoints that may be read: what one shows of the chain is held against what they show. */
  others(): readonly PoolEndpoint[]
  /** What the reader answers contradicts its own blocks, or another endpoint. Another one is read where there is one. */
  doubt(why: string): void
  /** Endpoints that take transactions, in the order in which they are tried. */
  senders(): readonly PoolEndpoint[]
  onEndpoint(listener: OnEndpoint): () => void
  stop(): void
}

/**
 * An account as the endpoint that is read now shows it, which has to say each time that it is on this chain: one that
 * has strayed to another shows a count there as well.
 */
export function readLaneOn(
  endpointPool: EndpointPool,
  address: Address,
  timeoutMs: number,
): Promise<LaneReading> {
  return readLaneAt(endpointPool, endpointPool.reader, { address, timeoutMs })
}

/** The same as another endpoint shows it. */
export function readLaneAt(
  { chainId }: EndpointPool,
  { port, gate }: Pick<PoolEndpoint, 'port' | 'gate'>,
  asked: { readonly address: Address; readonly timeoutMs: number },
): Promise<LaneReading> {
  const { callsPerSecond = Number.POSITIVE_INFINITY } = gate.status()
  return readLane(port, { ...asked, chainId }, (calls) => calls <= callsPerSecond)
}

/** Probes the endpoints, holds them against the chain that is asked for, and makes the poller. */
export async function openEndpointPool(options: {
  client: Client<Transport, Chain>
  endpoints: readonly Endpoint[]
  limits: Limits
  environment: Environment
  /** Asked while nothing has answered yet: nobody waits for the hub any more. */
  isClosing?: (() => boolean) | undefined
}): Promise<EndpointPool> {
  const { client, limits, environment, isClosing = () => false } = options
  const { clock } = environment
  const listeners = new Set<OnEndpoint>()
  const tell: OnEndpoint = (endpoint, change, reason) => {
    for (const listener of listeners) listener(endpoint, change, reason)
  }
  const turnsClock = stoppableClock(clock)
  const gates: HeldGate[] = []
  const endpoints = endpointsOf(options, gates, tell)
  function answered(endpoint: PoolEndpoint): void {
    tell(endpoint, 'up')
    // What it said from another chain does not go for it, and the pauses between its ticks had grown.
    if (isRead(endpoint)) tracker.readElsewhere()
  }
  const isRead = (endpoint: PoolEndpoint) => endpoint === reader()
  const { chain } = client
  const prober = createProber({ endpoints, chain, limits, clock, isClosing, answered, isRead })
  await prober.first()
  const selector = createEndpointSelector({ endpoints, tracker: () => tracker, prober, clock, limits, tell })
  if (selector === undefined) throw noReader(endpoints)
  const reader = () => selector.current
  const tracker = createTracker({
    port: () => reader().port,
    clock,
    chainId: client.chain.id,
    client: () => reader().profile.current().client,
    cadenceMs: () => reader().profile.current().cadenceMs ?? limits.pollIntervalMs,
    pending: () => pendingReads(reader().profile, tracker.head?.number ?? 0),
    onPendingBlock: (block, latest, head) =>
      reader().profile.observe(
        block === null || block === 'refused'
          ? { kind: 'pendingMissing' }
          : seenPendingBlock(block, latest, head),
      ),
    onTick(brought, tookMs) {
      noteBlock()
      if (brought) reader().nonsense(false)
      selector.ticked(brought, tookMs)
    },
    onStranger: selector.onWrongChain,
    others: () => selector.others().map(({ port }) => port),
    onReset: ({ tip, head, left }) =>
      tell(
        reader(),
        'reset',
        `the newest block is ${head}, and no endpoint shows block ${tip} any more: ${left} blocks left the chain`,
      ),
    identity: prober.identity,
    timeoutMs: limits.readTimeoutMs,
    horizon: limits.reorgHorizon,
  })
  const shown = prober.newest(selector.current)
  if (shown !== undefined) tracker.saw(shown)
  let blockHash: Hash | undefined
  /** With each new block a poll may go before its turn. */
  function noteBlock(): void {
    if (tracker.head?.hash === blockHash) return
    blockHash = tracker.head?.hash
    for (const { gate } of endpoints) gate.block()
  }
  for (const endpoint of endpoints) {
    endpoint.profile.onChange(() => {
      if (endpoint === reader()) tracker.lookAgain()
      tell(endpoint, 'profile')
    })
  }
  prober.again()
  const read = {
    endpoints,
    chain: client.chain,
    tracker,
    get reader() {
      return selector.current
    },
  }
  const { readTimeoutMs: timeoutMs, restMsMax } = limits
  const dataFees = createDataFees(read, timeoutMs)
  const receipts = createReceipts(read, { clock, timeoutMs, restMsMax, shown: dataFees.shown })
  return {
    chainId: client.chain.id,
    genesisHash: prober.genesis(),
    expectGenesis: prober.expect,
    client,
    chain: client.chain,
    endpoints,
    get reader() {
      return selector.current
    },
    tracker,
    receipts,
    feeHistory: createFeeHistory(read, timeoutMs),
    dataFees,
    turns: createTurns(turnsClock),
    others: selector.others,
    doubt: selector.doubt,
    senders: () => endpoints.filter((endpoint) => endpoint.role !== 'read' && endpoint.probed),
    onEndpoint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop() {
      turnsClock.stop()
      prober.stop()
      selector.stop()
      tracker.stop()
      for (const gate of gates) gate.release()
      for (const endpoint of endpoints) endpoint.port.close()
    },
  }
}

/** `send` endpoints first: who names one wants transactions to go there. */
function endpointsOf(
  options: Parameters<typeof openEndpointPool>[0],
  gates: HeldGate[],
  tell: OnEndpoint,
): PoolEndpoint[] {
  const { client, endpoints, environment, limits } = options
  const first: Endpoint = { client }
  const portsOf = environment.portsOf ?? clientPortsOf(environment.clock, limits)
  return [
    ...endpoints.filter((e) => e.role === 'send'),
    first,
    ...endpoints.filter((e) => e.role !== 'send'),
  ].flatMap((endpoint) =>
    portsOf(endpoint.client, endpoint).map(({ port: plain, role, url }): PoolEndpoint => {
      const watch = watchTrouble(plain, environment.clock, () =>
        tell(own, own.trouble ? 'failing' : 'answering'),
      )
      const singleSequencer = hasSingleSequencer(client.chain) || undefined
      const profile = createProfile({ singleSequencer, ...endpoint.profile })
      shareDeliveries(environment.shared, url, profile)
      // What plain reads through this port learn goes into the same profile.
      setProfile(watch.port, profile)
      setProfile(plain, profile)
      const held = holdGate(environment, limits, url)
      const off = held.gate.onRest((reason) => tell(own, 'rests', reason))
      gates.push({
        gate: held.gate,
        release() {
          off()
          held.release()
        },
      })
      const budgeted = budgetedPort(watch.port, held.gate, environment.clock)
      const own: PoolEndpoint = {
        port: limitBatches(budgeted, Math.min(limits.batchMax, READ_BATCH_MAX)),
        plain: watch.port,
        gate: held.gate,
        role,
        profile,
        probed: false,
        silentUntilMs: 0,
        get trouble() {
          return watch.trouble
        },
        nonsense: watch.nonsense,
      }
      return own
    }),
  )
}

/** Blocks after which an endpoint that showed no pending block of its own is looked at again. */
const LOOK_AGAIN_BLOCKS = 16

function pendingReads(profile: ProfileWatch, head: number) {
  const { pending } = profile.current()
  const without = pending === 'absent' || pending === 'latest'
  return {
    block: pending === 'preconfirmed' || pending === 'unknown' || (without && head % LOOK_AGAIN_BLOCKS === 0),
    count: pending === 'mempool' || pending === 'unknown',
    paced: pending === 'preconfirmed' || pending === 'unknown',
  }
}

function noReader(endpoints: readonly PoolEndpoint[]): TxlaneError {
  return new TxlaneError('No endpoint can be read from.', {
    code: 'INVALID',
    fate: 'notExecuted',
    metaMessages: endpoints.map((endpoint) => `${endpoint.port.name}: role ${endpoint.role}`),
  })
}
