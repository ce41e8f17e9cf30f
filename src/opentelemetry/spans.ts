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
import type { Stage, Tx } from '../types/index.js'

/** The trace of one transaction, from when this process first heard of it to its end. */
export type TxSpan = {
  /** Of what the caller may look up later: the span itself may be gone by then. */
  readonly context: SpanContext
  /** What happened to it; a newest attempt that was not told of yet is told of first. */
  happened(name: string, attributes?: Attributes): void
  /** `left`: nobody here follows it any more. It may still execute. */
  end(stage: Stage | 'left', failure?: { readonly code: string; readonly fate: string }): void
}

export type Spans = {
  begin(tx: Tx, resumed: boolean): TxSpan
  /** It ran and reverted, as its receipt says: told when the receipt is read, which is after the span has ended. */
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
 * The caller's span. What another process left in the store is told by a timer, which may carry the context of a
 * request that ended long ago: that one is nobody's parent.
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

/** Where it is: what may not stand on a metric, since there is one for each transaction. */
function placeOf({ nonce, hash }: Pick<Tx, 'nonce' | 'hash'>): Attributes {
  return {
    ...(nonce === undefined ? {} : { 'txlane.nonce': nonce }),
    ...(hash === undefined ? {} : { 'txlane.transaction.hash': hash }),
  }
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
