import {
  type Attributes,
  type BatchObservableCallback,
  type MeterProvider,
  metrics,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { Chain } from 'viem'
import { isTxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import { type Clock, systemClock } from '../platform/clock.js'
import type { Health, HoldReason, Sender, SenderEvents } from '../types/index.js'
import { createInstruments, type Instruments } from './instruments.js'
import { createSpans, createTransactions, type Transactions } from './transactions.js'

/** The options of `instrument`. */
export type InstrumentOptions = {
  /** Creates the metrics. @default the global provider at the time of the call */
  meterProvider?: MeterProvider | undefined
  /** Creates the spans. @default the global provider */
  tracerProvider?: TracerProvider | undefined
  /**
   * Additional attributes of every metric and span, beside chain and address. Use few different values,
   * because each creates another time series. @default none
   */
  attributes?: Attributes | undefined
  /**
   * Maximum number of transactions per lane that are followed at once, each with its span. Further ones are
   * counted, but neither timed nor traced. @default 100_000
   */
  openMax?: number | undefined
}

const OPEN_MAX = 100_000
/**
 * Reports a sender, or each sender of a pool, to OpenTelemetry: counters, a histogram of the time to each
 * stage, gauges, and one span for each transaction, a child of the span in which `send` was called.
 * docs/metrics.md lists the names. It makes no request to a node or to the store.
 *
 * Instrument a sender right after its creation, once for each lane of a process: earlier events are not
 * counted. Senders of one account share a lane, so each of them emits all events of the lane.
 *
 * Not guaranteed: that the end of a transaction is seen. A transaction that is open when the returned
 * function is called ends its span as `left`; call that function after `close`. If several processes share a
 * lane, a transaction is reported in the process that accepted it and in the process that sends it.
 *
 * @returns a function that removes the instrumentation and ends the open spans
 * @throws TxlaneError `INVALID` if the argument is no sender, or the limit no positive whole number
 * @example
 * const sender = createSender({ client })
 * const off = instrument(sender, { attributes: { 'deployment.environment.name': 'production' } })
 * await sender.send({ to, value: 1n })
 * await sender.close()
 * off()
 */
export function instrument<chain extends Chain>(
  sender: Sender<chain>,
  options: InstrumentOptions = {},
): () => void {
  return instrumentIn(systemClock, sender as unknown as Sender, options)
}

/** `instrument` with a given clock: for tests. */
export function instrumentIn(clock: Clock, sender: Watched, options: InstrumentOptions = {}): () => void {
  const { openMax = OPEN_MAX } = options
  if (typeof sender?.on !== 'function' || typeof sender.health !== 'function')
    throw invalid('sender', sender, 'a sender or a pool')
  if (!Number.isSafeInteger(openMax) || openMax < 1)
    throw invalid('openMax', openMax, 'a positive whole number')
  // Each lane separately, because the events of a pool do not name the account.
  const lanes = (sender as { senders?: readonly Watched[] }).senders ?? [sender]
  const offs = lanes.map((lane) => instrumentLane(clock, lane, { ...options, openMax }))
  return () => {
    for (const off of offs.splice(0)) off()
  }
}

/**
 * Seconds for which each endpoint has been failing, since that was first read here; 0 for endpoints that have
 * recovered.
 */
function createFailing(clock: Pick<Clock, 'now'>) {
  const firstReadMs = new Map<string, number>()
  return ({ reasons }: Health): ReadonlyMap<string, number> => {
    const failing = new Set(reasons.flatMap((reason) => (reason.for === 'endpoint' ? reason.endpoint : [])))
    const nowMs = clock.now()
    for (const name of firstReadMs.keys()) if (!failing.has(name)) firstReadMs.set(name, Number.NaN)
    for (const name of failing) firstReadMs.set(name, firstReadMs.get(name) || nowMs)
    return new Map([...firstReadMs].map(([name, atMs]) => [name, (nowMs - atMs) / 1_000 || 0]))
  }
}

function instrumentLane(clock: Clock, lane: Watched, options: InstrumentOptions & { openMax: number }) {
  const { meterProvider = metrics, tracerProvider = trace, openMax } = options
  const meter = meterProvider.getMeter('txlane')
  const attributes: Attributes = {
    ...options.attributes,
    'txlane.chain.id': lane.chain.id,
    'txlane.address': lane.address,
  }
  const instruments = createInstruments(meter)
  const spans = createSpans(tracerProvider.getTracer('txlane'), attributes)
  const transactions = createTransactions({ instruments, spans, attributes, clock, openMax })
  const held = new Map<HoldReason, boolean>()

  const failing = createFailing(clock)

  const observe: BatchObservableCallback = (result) => {
    const health = lane.health()
    result.observe(instruments.ready, health.ready ? 1 : 0, attributes)
    result.observe(instruments.inFlight, health.inFlight, attributes)
    result.observe(instruments.queued, health.queued, attributes)
    for (const [name, seconds] of failing(health))
      result.observe(instruments.failing, seconds, { ...attributes, 'txlane.endpoint.name': name })
    result.observe(instruments.unresolved, transactions.waitingForWord, attributes)
    for (const [reason, now] of held)
      result.observe(instruments.held, now ? 1 : 0, { ...attributes, 'txlane.hold.reason': reason })
  }
  const { inFlight, queued, unresolved, ready, failing: failingFor, held: heldNow } = instruments
  const observed = [inFlight, queued, unresolved, ready, failingFor, heldNow]
  meter.addBatchObservableCallback(observe, observed)

  const listeners = listenersOf(instruments, transactions, attributes, held)
  const offs = (Object.keys(listeners) as (keyof SenderEvents)[]).map((event) =>
    lane.on(event, listeners[event] as (payload: unknown) => void),
  )
  return () => {
    for (const off of offs) off()
    meter.removeBatchObservableCallback(observe, observed)
    transactions.stop()
  }
}

/** The part of a sender that is observed. */
export type Watched = Pick<Sender, 'chain' | 'address' | 'on' | 'health'>

type Listeners = { readonly [event in keyof SenderEvents]: (payload: SenderEvents[event]) => void }

/** One listener per event. The compiler reports a missing one. */
function listenersOf(
  instruments: Instruments,
  transactions: Transactions,
  attributes: Attributes,
  held: Map<HoldReason, boolean>,
): Listeners {
  const { reached, happened } = transactions
  const count = (name: 'gapsFound' | 'gapsFilled' | 'foreign' | 'displaced', event: string) => {
    return ({ tx, nonce }: SenderEvents['foreign']) => {
      instruments[name].add(1, attributes)
      happened(tx, event, { 'txlane.nonce': nonce })
    }
  }
  const reorged = (deep: boolean) => {
    return ({ tx }: SenderEvents['reorged']) => {
      instruments.reorgs.add(1, { ...attributes, 'txlane.reorg.deep': deep })
      happened(tx, deep ? 'deepReorg' : 'reorged')
    }
  }
  return {
    queued: ({ tx }) => reached(tx, 'queued'),
    signed: ({ tx }) => reached(tx, 'signed'),
    accepted: ({ tx }) => reached(tx, 'accepted'),
    preconfirmed: ({ tx }) => reached(tx, 'preconfirmed'),
    sealed: ({ tx }) => reached(tx, 'sealed'),
    failed: ({ tx, error }) => reached(tx, 'failed', error),
    cancelled: ({ tx }) => reached(tx, 'cancelled'),
    superseded: ({ tx }) => reached(tx, 'superseded'),
    reverted: ({ tx }) => transactions.reverted(tx),
    replaced({ tx }) {
      instruments.replaced.add(1, attributes)
      happened(tx, 'replaced')
    },
    waiting: ({ tx }) => happened(tx, 'waiting'),
    reordered: ({ tx }) => happened(tx, 'reordered'),
    rebroadcast({ tx }) {
      instruments.rebroadcasts.add(1, attributes)
      transactions.rebroadcast(tx)
    },
    stuck({ tx }) {
      instruments.stuck.add(1, attributes)
      happened(tx, 'stuck')
    },
    feeCeiling({ tx }) {
      instruments.feeCeilings.add(1, attributes)
      happened(tx, 'feeCeiling')
    },
    foreign: count('foreign', 'foreign'),
    displaced: count('displaced', 'displaced'),
    gap: count('gapsFound', 'gap'),
    gapFilled: count('gapsFilled', 'gapFilled'),
    reorged: reorged(false),
    deepReorg: reorged(true),
    corrected: ({ tx }) => happened(tx, 'corrected'),
    rebound: ({ tx }) => happened(tx, 'rebound'),
    unresolved: ({ tx }) => void (tx && transactions.unresolved(tx)),
    held({ reason }) {
      held.set(reason, true)
      instruments.holds.add(1, { ...attributes, 'txlane.hold.reason': reason })
    },
    released: ({ reason }) => void held.set(reason, false),
    endpoint({ name, role, change }) {
      const own = {
        'txlane.endpoint.name': name,
        'txlane.endpoint.role': role,
        'txlane.endpoint.change': change,
      }
      instruments.endpointChanges.add(1, { ...attributes, ...own })
    },
    leaseGained: ({ takeover }) =>
      instruments.leasesGained.add(1, { ...attributes, 'txlane.lease.takeover': takeover }),
    leaseLost() {
      // Another process owns the lane and its holds from now on.
      for (const reason of held.keys()) held.set(reason, false)
      instruments.leasesLost.add(1, attributes)
    },
    error({ error, times }) {
      const type = isTxlaneError(error) ? error.code : error.name
      instruments.errors.add(times, { ...attributes, 'error.type': type })
    },
  }
}
