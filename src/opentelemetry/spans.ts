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

/** The trace of one transaction, from its first event in this process to its end. */
export type TxSpan = {
  /** The context of the span, for events after the span has ended. */
  readonly context: SpanContext
  /** Adds an event. If the newest attempt has no event yet, one is added before it. */
  happened(name: string, attributes?: Attributes): void
  /** `left`: this process no longer follows the transaction, which may still execute. */
  end(stage: Stage | 'left', failure?: { readonly code: string; readonly fate: string }): void
}

export type Spans = {
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
