import type { Attributes } from '@opentelemetry/api'
import type { Clock } from '../platform/clock.js'
import type { Stage, Tx } from '../types/index.js'
import type { Instruments } from './instruments.js'
import type { Spans, TxSpan } from './spans.js'

type End = 'sealed' | 'failed' | 'cancelled' | 'superseded'
type Failure = { readonly code: string; readonly fate: string }

/** A transaction that has not ended. */
type Open = {
  readonly tx: Tx
  /** Unknown for one that was queued before anybody listened, or in another process. */
  readonly queuedAtMs: number | undefined
  readonly span: TxSpan
  readonly told: Set<Stage>
  /** Sent again before any node had taken it: nobody knows what became of the first send. */
  unknown: boolean
}

/** Follows transactions from queued to their ends: counts, times and spans. Asks nothing of a node or a store. */
export type Transactions = {
  /** It came to a stage. Each counts once, however often a reorg takes it back. */
  reached(tx: Tx, stage: Stage, failure?: Failure): void
  /** Something else happened to it. */
  happened(tx: Tx | undefined, name: string, attributes?: Attributes): void
  rebroadcast(tx: Tx): void
  unresolved(tx: Tx): void
  reverted(tx: Tx): void
  /** How many wait for an operator's word. */
  readonly waitingForWord: number
  /** Nobody listens any more: spans end as they are. */
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
  // Not to be counted again, and where a late word about them belongs. They are the lane's to keep or to forget.
  const ended = new WeakMap<Tx, { readonly span: TxSpan | undefined; reverted: boolean }>()

  function begin(tx: Tx, stage: Stage): Open | undefined {
    if (open.size >= openMax) return undefined
    const fresh = stage === 'queued'
    const span = spans.begin(tx, !fresh)
    const one: Open = {
      tx,
      queuedAtMs: fresh ? clock.now() : undefined,
      span,
      told: new Set(),
      unknown: false,
    }
    open.set(tx, one)
    return one
  }

  /** From now on, where it was not yet; not once it has ended. */
  function followed(tx: Tx, stage = tx.stage): Open | undefined {
    return open.get(tx) ?? (ended.has(tx) ? undefined : begin(tx, stage))
  }

  function reached(tx: Tx, stage: Stage, failure?: Failure): void {
    if (ended.has(tx)) return
    unresolved.delete(tx)
    const one = followed(tx, stage)
    const again = one?.told.has(stage) === true
    one?.told.add(stage)
    one?.span.happened(stage)
    if (one !== undefined) resolve(one, again && stage === 'signed' ? 'queued' : stage)
    if (isEnd(stage)) return end(tx, one, stage, failure)
    if (!again) count(one, stage)
  }

  function count(one: Open | undefined, stage: Stage, failure?: Failure): void {
    const own = { ...attributes, 'txlane.stage': stage, ...(failure ? { 'error.type': failure.code } : {}) }
    instruments.transactions.add(1, own)
    if (one?.queuedAtMs === undefined || stage === 'queued') return
    // Wall time may jump: a negative time would spoil the sum.
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

  /** An unknown outcome that is known now. `queued`: its nonce went to something else, and it has another one. */
  function resolve(one: Open, stage: Stage | 'unresolved'): void {
    if (!one.unknown || stage === 'signed') return
    one.unknown = false
    instruments.resolved.add(1, { ...attributes, 'txlane.stage': stage })
  }

  /** An operator's word ends it without an event. */
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
      // Beyond the limit an operator still sees that there are some.
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

/** Stages at which a nonce may be used without anybody knowing by what. */
const UNDECIDED: ReadonlySet<Stage> = new Set<Stage>(['signed', 'accepted', 'preconfirmed'])

function isEnd(stage: Stage): stage is End {
  return stage === 'sealed' || stage === 'failed' || stage === 'cancelled' || stage === 'superseded'
}
