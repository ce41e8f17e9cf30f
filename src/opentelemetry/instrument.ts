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

/** What `instrument` measures and traces with. */
export type InstrumentOptions = {
  /** Makes the metrics. @default the global one, as it is when `instrument` is called */
  meterProvider?: MeterProvider | undefined
  /** Makes the spans. @default the global one */
  tracerProvider?: TracerProvider | undefined
  /** On every metric and span beside chain and address: a few values only, since each makes another time series. */
  attributes?: Attributes | undefined
  /**
   * Transactions of a lane that are followed at once, each with its span. What comes in above it is counted, and
   * neither timed nor traced. @default 100_000
   */
  openMax?: number | undefined
}

const OPEN_MAX = 100_000
/**
 * Tells OpenTelemetry what a sender, or each sender of a pool, does: counters, a histogram of the time to each stage,
 * levels, and one span for each transaction, a child of the span that `send` was called in. The names are in
 * docs/metrics.md. Nothing is asked of a node or of the store for it.
 *
 * Instrument a sender right after it was made, once for each lane of a process: what was told before is not counted,
 * and senders of one account share a lane, so each of them hears of everything in it.
 *
 * Not guaranteed: that the end of a transaction is seen. One that is still open when the returned function is called
 * ends its span as `left`; call it after `close`. And where several processes share a lane, a transaction is told in
 * the one that took it and in the one that sends it.
 *
 * @returns takes all of it off again, and ends the spans that are open
 * @throws TxlaneError `INVALID` for what is no sender, or a limit that is no positive whole number
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

/** `instrument` in a given time: for tests. */
export function instrumentIn(clock: Clock, sender: Watched, options: InstrumentOptions = {}): () => void {
  const { openMax = OPEN_MAX } = options
  if (typeof sender?.on !== 'function' || typeof sender.health !== 'function')
    throw invalid('sender', sender, 'a sender or a pool')
  if (!Number.isSafeInteger(openMax) || openMax < 1)
    throw invalid('openMax', openMax, 'a positive whole number')
  // Each lane by itself: a pool would tell what happened, and not to which account.
  const lanes = (sender as { senders?: readonly Watched[] }).senders ?? [sender]
  const offs = lanes.map((lane) => instrumentLane(clock, lane, { ...options, openMax }))
  return () => {
    for (const off of offs.splice(0)) off()
  }
}

/** Seconds by endpoint, of those that fail now, since that was first read here; 0 for those that did. */
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
