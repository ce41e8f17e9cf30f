import {
  type Attributes,
  type BatchObservableCallback,
  type MeterProvider,
  metrics,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { Chain } from 'viem'
import { invalid } from '../errors/invalid.js'
import { type Clock, systemClock } from '../platform/clock.js'
import type { Health, HoldReason, Sender, SenderEvents } from '../types/index.js'
import { createInstruments } from './instruments.js'
import { listenersOf, type Watched } from './lane.js'
import { createSpans } from './spans.js'
import { createTransactions } from './transactions.js'

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
