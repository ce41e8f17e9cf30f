import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Clock } from '../platform/clock.js'
import type { Stage, Tx } from '../types/index.js'
import type { Instruments } from './instruments.js'

type End = 'sealed' | 'failed' | 'cancelled' | 'superseded'
type Failure = { readonly code: string; readonly fate: string }

/** A transaction that has not ended. */
type Open = {
  readonly tx: Tx
  /** Undefined if it was queued before `instrument` was called, or in another process. */
  readonly queuedAtMs: number | undefined
  readonly span: TxSpan
  readonly reported: Set<Stage>
  /**
   * True if it was sent again before any node accepted it, so that the outcome of the first send is unknown.
   */
  unknown: boolean
}

/**
 * Follows transactions from queued to their end, for counts, times and spans. Makes no request to a node or a
 * store.
 */
export type Transactions = {
  /** The transaction reached a stage. Each stage counts once, however often a reorg undoes it. */
  reached(tx: Tx, stage: Stage, failure?: Failure): void
  /** Another event of the transaction. */
  happened(tx: Tx | undefined, name: string, attributes?: Attributes): void
  rebroadcast(tx: Tx): void
  unresolved(tx: Tx): void
  reverted(tx: Tx): void
  /** The number of transactions that wait for an operator's decision. */
  readonly waitingForWord: number
  /** Ends the spans in their current state, when observation stops. */
  stop(): void
}

export function createTransactions(parts: {
  readonly instruments: Instruments
  readonly spans: Spans
  readonly attributes: Attributes
  readonly clock: Clock
  readonly openMax: number
}): Transactions {
  const { instruments, spans, attributes, clock, openMax } = parts
  const open = new Map<Tx, Open>()
  const unresolved = new Set<Tx>()
  // Ended transactions are not counted again, but late events are attached to their span. A WeakMap, so that
  // the lane decides how long they are kept.
  const ended = new WeakMap<Tx, { readonly span: TxSpan | undefined; reverted: boolean }>()

  function begin(tx: Tx, stage: Stage): Open | undefined {
    if (open.size >= openMax) return undefined
    const fresh = stage === 'queued'
    const span = spans.begin(tx, !fresh)
    const one: Open = {
      tx,
      queuedAtMs: fresh ? clock.now() : undefined,
      span,
      reported: new Set(),
      unknown: false,
    }
    open.set(tx, one)
    return one
  }

  /** Starts to follow a transaction if it is not followed yet and has not ended. */
  function followed(tx: Tx, stage = tx.stage): Open | undefined {
    return open.get(tx) ?? (ended.has(tx) ? undefined : begin(tx, stage))
  }

  function reached(tx: Tx, stage: Stage, failure?: Failure): void {
    if (ended.has(tx)) return
    unresolved.delete(tx)
    const one = followed(tx, stage)
    const again = one?.reported.has(stage) === true
    one?.reported.add(stage)
    one?.span.happened(stage)
    if (one !== undefined) resolve(one, again && stage === 'signed' ? 'queued' : stage)
    if (isEnd(stage)) return end(tx, one, stage, failure)
    if (!again) count(one, stage)
  }

  function count(one: Open | undefined, stage: Stage, failure?: Failure): void {
    const own = { ...attributes, 'txlane.stage': stage, ...(failure ? { 'error.type': failure.code } : {}) }
    instruments.transactions.add(1, own)
    if (one?.queuedAtMs === undefined || stage === 'queued') return
    // Wall time may jump, and a negative duration would falsify the sum.
    instruments.time.record(Math.max(0, clock.now() - one.queuedAtMs) / 1_000, own)
  }

  function close(tx: Tx, one: Open | undefined): void {
    open.delete(tx)
    ended.set(tx, { span: one?.span, reverted: false })
  }

  function end(tx: Tx, one: Open | undefined, stage: End, failure: Failure | undefined): void {
    close(tx, one)
    count(one, stage, failure)
    one?.span.end(stage, failure)
  }

  /**
   * An unknown outcome has become known. With `queued`, another transaction used its nonce, and it gets a new
   * one.
   */
  function resolve(one: Open, stage: Stage | 'unresolved'): void {
    if (!one.unknown || stage === 'signed') return
    one.unknown = false
    instruments.resolved.add(1, { ...attributes, 'txlane.stage': stage })
  }

  /** An operator's decision ends it without an event. */
  function sweep(): void {
    for (const [tx, one] of open) {
      if (tx.stage !== 'finalized' && tx.stage !== 'safe') continue
      close(tx, one)
      one.span.end(tx.stage)
    }
    for (const tx of unresolved) if (!UNDECIDED.has(tx.stage)) unresolved.delete(tx)
  }

  return {
    reached,
    happened: (tx, name, own) => void (tx && open.get(tx)?.span.happened(name, own)),
    rebroadcast(tx) {
      const one = followed(tx)
      one?.span.happened('rebroadcast')
      if (one === undefined || one.unknown || tx.stage !== 'signed') return
      one.unknown = true
      instruments.unknown.add(1, attributes)
    },
    unresolved(tx) {
      const one = followed(tx)
      one?.span.happened('unresolved')
      if (one) resolve(one, 'unresolved')
      // Above the limit the operator still sees that there are some.
      if (unresolved.size < openMax) unresolved.add(tx)
    },
    reverted(tx) {
      const known = ended.get(tx)
      if (known?.reverted) return
      ended.set(tx, { span: known?.span, reverted: true })
      instruments.reverted.add(1, attributes)
      spans.reverted(tx, known?.span?.context)
    },
    get waitingForWord() {
      sweep()
      return unresolved.size
    },
    stop() {
      for (const { span } of open.values()) span.end('left')
      open.clear()
      unresolved.clear()
    },
  }
}

/** Stages at which it may be unknown which transaction used the nonce. */
const UNDECIDED: ReadonlySet<Stage> = new Set<Stage>(['signed', 'accepted', 'preconfirmed'])

function isEnd(stage: Stage): stage is End {
  return stage === 'sealed' || stage === 'failed' || stage === 'cancelled' || stage === 'superseded'
}

/** The trace of one transaction, from its first event in this process to its end. */
type TxSpan = {
  /** The context of the span, for events after the span has ended. */
  readonly context: SpanContext
  /** Adds an event. If the newest attempt has no event yet, one is added before it. */
  happened(name: string, attributes?: Attributes): void
  /** `left`: this process no longer follows the transaction, which may still execute. */
  end(stage: Stage | 'left', failure?: { readonly code: string; readonly fate: string }): void
}

type Spans = {
  begin(tx: Tx, resumed: boolean): TxSpan
  /** The transaction executed and reverted, by its receipt. The receipt is read after the span has ended. */
  reverted(tx: Tx, parent: SpanContext | undefined): void
}

export function createSpans(tracer: Tracer, attributes: Attributes): Spans {
  return {
    begin(tx, resumed) {
      const own = { ...attributes, 'txlane.transaction.id': tx.id, 'txlane.transaction.resumed': resumed }
      return createTxSpan(tx, tracer.startSpan('txlane.transaction', { attributes: own }, parentOf()))
    },
    reverted(tx, parent) {
      const within = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
      const own = { ...attributes, 'txlane.transaction.id': tx.id, ...placeOf(tx) }
      const span = tracer.startSpan('txlane.transaction.reverted', { attributes: own }, within)
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'It executed and reverted.' })
      span.end()
    },
  }
}

/**
 * The caller's span. Transactions that another process left in the store are reported from a timer, which may
 * carry the context of a request that ended long ago. Such a context is not used as a parent.
 */
function parentOf(): Context {
  const active = trace.getActiveSpan()
  if (active === undefined || active.isRecording()) return context.active()
  const { traceFlags, isRemote } = active.spanContext()
  const over = !isRemote && (traceFlags & TraceFlags.SAMPLED) !== 0
  return over ? trace.deleteSpan(context.active()) : context.active()
}

function createTxSpan(tx: Tx, span: Span): TxSpan {
  let newest: string | undefined
  let attempts = 0

  function noteAttempt(): void {
    const attempt = tx.attempts.at(-1)
    if (attempt === undefined || attempt.hash === newest) return
    newest = attempt.hash
    attempts++
    const fees = Object.entries(attempt.fees).map(([name, wei]) => [
      `txlane.fees.${snake(name)}`,
      String(wei),
    ])
    span.addEvent('attempt', { ...placeOf(attempt), ...Object.fromEntries(fees) })
  }

  return {
    context: span.spanContext(),
    happened(name, attributes) {
      if (!span.isRecording()) return
      noteAttempt()
      span.addEvent(name, { ...placeOf(tx), ...attributes })
    },
    end(stage, failure) {
      if (span.isRecording()) noteAttempt()
      span.setAttributes({ ...placeOf(tx), 'txlane.stage': stage, 'txlane.attempts': attempts })
      if (failure !== undefined) {
        span.setAttributes({ 'error.type': failure.code, 'txlane.fate': failure.fate })
        span.setStatus({ code: SpanStatusCode.ERROR, message: `${failure.code}, ${failure.fate}` })
      }
      span.end()
    },
  }
}

/** Attributes that must not be on a metric, because each transaction has its own values. */
function placeOf({ nonce, hash }: Pick<Tx, 'nonce' | 'hash'>): Attributes {
  return {
    ...(nonce === undefined ? {} : { 'txlane.nonce': nonce }),
    ...(hash === undefined ? {} : { 'txlane.transaction.hash': hash }),
  }
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
