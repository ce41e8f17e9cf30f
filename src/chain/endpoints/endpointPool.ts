import type { Address, Chain, Client, Hash, Transport } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import type { BlockRef } from '../../ledger/slot.js'
import { stoppableClock } from '../../platform/clock.js'
import { createTurns, type Turns } from '../../platform/turns.js'
import { limitBatches, READ_BATCH_MAX } from '../../rpc/limitBatches.js'
import { type LaneReading, readLane } from '../../rpc/methods/readLane.js'
import type { Port } from '../../rpc/port.js'
import { createProfile, type EndpointProfile, type ProfileWatch, setProfile } from '../../rpc/profile.js'
import { seenPendingBlock } from '../../rpc/profileRules.js'
import type { Endpoint, EndpointEvent, Limits } from '../../types/index.js'
import { createTracker, type Tracker } from '../blocks/blockPoller.js'
import type { Environment, Shared } from '../environment.js'
import { budgetedPort } from './budgetedPort.js'
import { clientPortsOf } from './clientPortsOf.js'
import { createDataFees, type DataFees } from './dataFees.js'
import { createEndpointSelector, type EndpointSelector } from './endpointSelector.js'
import { createFeeHistory, type FeeHistory } from './feeHistory.js'
import { createProber, type Prober } from './prober.js'
import { createReceipts, type Receipts } from './receipts.js'
import { type HeldGate, holdGate, type RequestGate } from './requestGate.js'
import { type Trouble, watchTrouble } from './trouble.js'

/** One URL and its state. */
export type PoolEndpoint = {
  /** The port for reads: within the request budget, in batches that the endpoint accepts. */
  readonly port: Port
  /** The port for callers that ask the request budget themselves: each batch is one request. */
  readonly plain: Port
  readonly gate: RequestGate
  readonly role: 'both' | 'read' | 'send'
  readonly profile: ProfileWatch
  /**
   * The endpoint answered a probe with the right chain, and has shown no other since. An endpoint that is not probed
   * is not used.
   */
  probed: boolean
  /** The fault of its answers, if they are of no use. */
  readonly trouble: Trouble | undefined
  /** See `TroubleWatch`. */
  nonsense(said: string | false): void
  /** The endpoint left a send without an answer: until this time no sender waits for its answer to a send. */
  silentUntilMs: number
}

type OnEndpoint = (endpoint: PoolEndpoint, change: EndpointEvent['change'], reason?: string) => void

/** The ports, the profiles and the poller that lanes on one chain share if they use the same endpoints. */
export type EndpointPool = {
  readonly chainId: number
  /** Undefined if no endpoint showed block 0 when the pool was opened. `chainOf` names the chain. */
  readonly genesisHash: Hash | undefined
  /** See `Prober`. */
  expectGenesis(genesis: Hash): void
  readonly client: Client<Transport, Chain>
  readonly chain: Chain
  readonly endpoints: readonly PoolEndpoint[]
  /**
   * The endpoint that is read now, so that counts and blocks come from one view of the chain. Another endpoint may take its
   * place at any time: look it up for each request, and send reads that belong together to one endpoint.
   */
  readonly reader: PoolEndpoint
  readonly tracker: Tracker
  readonly receipts: Receipts
  readonly feeHistory: FeeHistory
  readonly dataFees: DataFees
  /** Divides the bursts of its lanes so that the event loop turns. */
  readonly turns: Turns
  /** Other endpoints that may be read, to compare their view of the chain with that of the reader. */
  others(): readonly PoolEndpoint[]
  /** The answers of the reader contradict its own blocks, or another endpoint. Another endpoint is read if there is one. */
  doubtReader(why: string): void
  /** Endpoints that accept transactions, in the order in which they are tried. */
  senders(): readonly PoolEndpoint[]
  onEndpoint(listener: OnEndpoint): () => void
  /** Resolves once no subscription is left, or its end was not answered in time. */
  stop(): Promise<void>
}

/**
 * Reads an account from the reader. Each answer also has to show that the endpoint is on this chain: an endpoint on another
 * chain shows a count as well.
 */
export function readLaneOn(
  endpointPool: Pick<EndpointPool, 'chainId' | 'reader'>,
  address: Address,
  timeoutMs: number,
  /** Learns whether code at `pending` shows the pending state, if the profile does not say. @default false */
  compares = false,
): Promise<LaneReading> {
  return readLaneAt(endpointPool, endpointPool.reader, { address, timeoutMs, compares })
}

/** Reads the account from another endpoint. */
export function readLaneAt(
  { chainId }: Pick<EndpointPool, 'chainId'>,
  { port, gate }: Pick<PoolEndpoint, 'port' | 'gate'>,
  {
    compares,
    ...asked
  }: {
    readonly address: Address
    readonly timeoutMs: number
    readonly compares?: boolean
    readonly signal?: AbortSignal | undefined
  },
): Promise<LaneReading> {
  const { callsPerSecond = Number.POSITIVE_INFINITY } = gate.status()
  return readLane(port, { ...asked, chainId }, { isWhole: (calls) => calls <= callsPerSecond, compares })
}

type PoolOptions = {
  readonly client: Client<Transport, Chain>
  readonly endpoints: readonly Endpoint[]
  readonly limits: Limits
  readonly environment: Environment
  /** Aborted once no caller waits for the pool any more. It ends the wait for first answers. */
  readonly closing?: AbortSignal | undefined
}

/** Probes the endpoints, compares them with the wanted chain, and creates the poller. */
export async function openEndpointPool(options: PoolOptions): Promise<EndpointPool> {
  const { client, limits, environment, closing } = options
  const { clock } = environment
  const listeners = new Set<OnEndpoint>()
  const report: OnEndpoint = (endpoint, change, reason) => {
    for (const listener of listeners) listener(endpoint, change, reason)
  }
  const turnsClock = stoppableClock(clock)
  const gates: HeldGate[] = []
  const endpoints = endpointsOf(options, gates, report)
  function answered(endpoint: PoolEndpoint): void {
    report(endpoint, 'up')
    // Answers from before, possibly of another chain, do not count, and the failed ticks have made the pauses longer.
    if (isRead(endpoint)) tracker.onReaderChanged()
  }
  const isRead = (endpoint: PoolEndpoint) => endpoint === reader()
  const prober = createProber({ endpoints, chain: client.chain, limits, clock, closing, answered, isRead })
  await prober.first()
  const trackerNow = () => tracker
  const selector = createEndpointSelector({ endpoints, tracker: trackerNow, prober, clock, limits, report })
  if (selector === undefined) throw noReader(endpoints)
  const reader = () => selector.current
  const tracker = createPoolTracker({ options, endpoints, selector, prober, report })
  const shown = prober.newest(selector.current)
  if (shown !== undefined) tracker.onNewestBlock(shown)
  for (const endpoint of endpoints) {
    endpoint.profile.onChange(() => {
      if (endpoint === reader()) tracker.replayPending()
      report(endpoint, 'profile')
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
    doubtReader: selector.doubtReader,
    senders: () => endpoints.filter((endpoint) => endpoint.role !== 'read' && endpoint.probed),
    onEndpoint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async stop() {
      turnsClock.stop()
      prober.stop()
      selector.stop()
      tracker.stop()
      for (const gate of gates) gate.release()
      await closePorts(endpoints, tracker.unsubscribed)
    },
  }
}

/** The poller of the pool. It reads the endpoint that the selector has chosen at that moment. */
function createPoolTracker({
  options: { client, limits, environment },
  endpoints,
  selector,
  prober,
  report,
}: {
  readonly options: Pick<PoolOptions, 'client' | 'limits' | 'environment'>
  readonly endpoints: readonly PoolEndpoint[]
  readonly selector: EndpointSelector
  readonly prober: Pick<Prober, 'identity'>
  readonly report: OnEndpoint
}): Tracker {
  const { clock, shared } = environment
  const reader = () => selector.current
  let blockHash: Hash | undefined
  /** After a new block, a poll may leave before its turn. */
  function noteBlock(): void {
    if (tracker.head?.hash === blockHash) return
    blockHash = tracker.head?.hash
    for (const { gate } of endpoints) gate.block()
  }
  const tracker: Tracker = createTracker({
    port: () => reader().port,
    announcer: () => [reader(), ...selector.others()].find(({ port }) => port.notifications)?.port,
    headSubscriptions: shared.headSubscriptions,
    clock,
    chainId: client.chain.id,
    client: () => reader().profile.current().client,
    cadenceMs: () => limits.pollIntervalMs,
    pending: () => pendingReads(reader().profile, tracker),
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
    onWrongChain: selector.onWrongChain,
    others: () => selector.others().map(({ port }) => port),
    onReset: ({ tip, head, left }) =>
      report(
        reader(),
        'reset',
        `the newest block is ${head}, and no endpoint shows block ${tip} any more: ${left} blocks left the chain`,
      ),
    identity: prober.identity,
    timeoutMs: limits.readTimeoutMs,
    horizon: limits.reorgHorizon,
  })
  return tracker
}

/** `send` endpoints first: a caller that names one wants its transactions sent there. */
function endpointsOf(options: PoolOptions, gates: HeldGate[], report: OnEndpoint): PoolEndpoint[] {
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
        report(own, own.trouble ? 'failing' : 'answering'),
      )
      const singleSequencer = hasSingleSequencer(client.chain) || undefined
      const profile = createProfile({ singleSequencer, ...endpoint.profile })
      shareDeliveries(environment.shared, url, profile)
      // Plain reads through this port learn into the same profile.
      setProfile(watch.port, profile)
      setProfile(plain, profile)
      const held = holdGate(environment, limits, url)
      const off = held.gate.onRest((reason) => report(own, 'rests', reason))
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

/** The interval, in blocks and in time, after which an endpoint without a pending block of its own is tested again. */
const LOOK_AGAIN_BLOCKS = 16
const LOOK_AGAIN_MS = 30_000
const BLOCK_MS_DEFAULT = 2_000

function pendingReads(profile: ProfileWatch, { head, blockMs = BLOCK_MS_DEFAULT }: Tracker) {
  const { pending } = profile.current()
  const without = pending === 'absent' || pending === 'latest'
  const every = Math.max(LOOK_AGAIN_BLOCKS, Math.round(LOOK_AGAIN_MS / Math.max(1, blockMs)))
  const isTested = without && (head?.number ?? 0) % every === 0
  return {
    block: pending === 'preconfirmed' || pending === 'unknown' || isTested,
    count: pending === 'mempool' || pending === 'unknown',
    paced: pending === 'preconfirmed' || pending === 'unknown',
  }
}

/**
 * Subscriptions have to be ended before their connection is given up. Until it is, requests wait for their turn at
 * that endpoint.
 */
async function closePorts(endpoints: readonly PoolEndpoint[], unsubscribed: Promise<void>): Promise<void> {
  const isSubscribing = ({ port }: PoolEndpoint) => port.notifications !== undefined
  for (const endpoint of endpoints) if (!isSubscribing(endpoint)) endpoint.port.close()
  if (!endpoints.some(isSubscribing)) return
  await unsubscribed
  for (const endpoint of endpoints) if (isSubscribing(endpoint)) endpoint.port.close()
}

function noReader(endpoints: readonly PoolEndpoint[]): TxlaneError {
  return new TxlaneError('No endpoint can be read from.', {
    code: 'INVALID',
    fate: 'notExecuted',
    metaMessages: endpoints.map((endpoint) => `${endpoint.port.name}: role ${endpoint.role}`),
  })
}

type Delivery = EndpointProfile['delivery']

const URLS_MAX = 256

/**
 * A lane at a URL begins with the profile that deliveries of this process have learned there, even if their sender is
 * closed. A transport without a URL cannot be recognised.
 */
export function shareDeliveries(
  { deliveries }: Shared,
  url: string | undefined,
  profile: ProfileWatch,
): void {
  if (url === undefined) return
  const known = deliveries.get(url) as Delivery | undefined
  if (known !== undefined) profile.observe({ kind: 'delivered', delivery: known })
  profile.onChange(({ before, now }) => {
    // The known properties of a client are not kept: another client may answer at this URL next time.
    if (now.delivery === before.delivery || now.client !== before.client) return
    deliveries.delete(url)
    deliveries.set(url, now.delivery)
    const [oldest = url] = deliveries.keys()
    if (deliveries.size > URLS_MAX) deliveries.delete(oldest)
  })
}

/** One reference for all attempts that were made at a block, because there may be thousands of them. */
const blockRefs = new WeakMap<BlockRef, BlockRef>()

/** The newest block, for `Attempt.madeAt`. */
export function newestBlock({
  endpointPool,
}: {
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
}): BlockRef | undefined {
  const { head } = endpointPool.tracker
  if (head === undefined) return undefined
  const ref = blockRefs.get(head) ?? { number: head.number, hash: head.hash }
  blockRefs.set(head, ref)
  return ref
}

/**
 * True if one sequencer orders all transactions of the chain. The OP-stack definitions of viem have a fee oracle; any other
 * chain states it in its definition as `custom: { singleSequencer: true }`.
 */
export function hasSingleSequencer({ custom, contracts }: Chain): boolean {
  return custom?.singleSequencer === true || contracts?.gasPriceOracle !== undefined
}
