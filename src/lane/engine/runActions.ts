import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { TxlaneErrorCode } from '../../errors/base.js'
import type { Book } from '../../ledger/book.js'
import type { EmittedEvent, EndAs, SlotAction } from '../../ledger/event.js'
import { lastClaim, type Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Tx } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import { emitForeign } from '../confirmation/foreign.js'
import type { Seed } from '../confirmation/seeding.js'
import { isBoundElsewhere } from '../confirmation/stages.js'
import type { Emitter } from '../emitter.js'
import type { LaneSession } from '../session/laneSession.js'
import { markLanded, markLandedUnseen, settleVerdict, update } from '../transaction/changes.js'
import { sayGivenUp } from '../transaction/givenUp.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { endWith, reportUnresolved } from '../transaction/transactionEvents.js'
import { txError } from '../transaction/txError.js'

type RunActionsContext = {
  readonly lane: Lane
  readonly store: Store
  readonly clock: Clock
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
  readonly session: LaneSession
  readonly closed: boolean
  readonly history: Seed['history']
}

export type ActionRunnerParts = {
  readonly context: RunActionsContext
  readonly sign: (nonce: number, claim: string, token: number) => void
  readonly noop: (nonce: number, token: number) => void
  readonly bump: (nonce: number, token: number, replacementRejections: number) => void
  readonly broadcast: (nonce: number) => void
  readonly scheduleResend: (nonce: number) => void
  readonly findEvidence: () => void
  readonly queueAgain: (transaction: Transaction) => void
  /**
   * The transaction executed at the nonce after all, or the transaction that it replaced did. Its place in
   * the queue, or its later nonce, is withdrawn.
   */
  readonly reclaim: (transaction: Transaction, nonce: number) => void
  readonly transactionOf: (nonce: number) => Transaction | undefined
  /** Nothing more can happen to the transaction. It is removed from memory and remains in the store. */
  readonly forget: (transaction: Transaction) => void
}

/**
 * If a transaction lost more nonces than this to other transactions, the endpoints' answers are probably
 * wrong.
 */
const REBOUND_MAX = 3

/**
 * Number of nonces that a transaction with signed bytes has lost to other transactions, as far as slots are
 * stored.
 */
function timesDisplaced(book: Book, id: string): number {
  let times = 0
  for (const slot of book.slots.values()) {
    if (slot.state !== 'used' || !slot.settled || slot.by.kind !== 'other') continue
    if (slot.attempts.some(({ claim }) => claim === id)) times++
  }
  return times
}

/** The foreign transaction that used this slot, and its block, if they are known. */
function foreignIn(slot: Slot | undefined): {
  readonly hash: Hash | undefined
  readonly block: number | undefined
} {
  if (slot?.state !== 'used') return { hash: undefined, block: undefined }
  return { hash: slot.by.kind === 'other' ? slot.by.hash : undefined, block: slot.at?.number }
}

function reboundOften(id: string, times: number): string {
  return `Transaction ${id} lost ${times} nonces to other transactions of this account. Check whether another process has its key, and whether the endpoints answer correctly; resume() lets the lane go on.`
}

/** Performs the actions of the table. It makes no decisions. */
export function createActionRunner(parts: ActionRunnerParts) {
  const { context } = parts
  const { events, transactions } = context
  const announce = createAnnouncements(context, parts.transactionOf)

  function perform(nonce: number, actions: readonly SlotAction[]): void {
    for (const action of actions) one(nonce, action)
  }

  function one(nonce: number, action: SlotAction): void {
    switch (action.do) {
      case 'sign':
        return parts.sign(nonce, action.claim, action.token)
      case 'noop':
        return parts.noop(nonce, action.token)
      case 'bump':
        return parts.bump(nonce, action.token, action.replacementRejections)
      case 'broadcast':
        return parts.broadcast(nonce)
      case 'resend':
      case 'backOff':
        return parts.scheduleResend(nonce)
      case 'findEvidence':
        return parts.findEvidence()
      case 'queueAgain':
        return withTransaction(action.claim, again)
      case 'end':
        return withTransaction(action.claim, (transaction) => ended(nonce, transaction, action.as))
      case 'landed':
        return withTransaction(action.claim, (transaction) => landed(transaction, action.hash))
      case 'reclaim':
        return withTransaction(action.claim, (transaction) => parts.reclaim(transaction, nonce))
      case 'hold':
        return context.lane.holds.add(action.reason)
      case 'emit':
        return announce(nonce, action.event)
      case 'readAgain':
      case 'prune':
        // The journal reads again by itself, and the book has pruned the slot already.
        return
      default:
        return action satisfies never
    }
  }

  function withTransaction(id: string, work: (transaction: Transaction) => void): void {
    const transaction = transactions.get(id)
    if (transaction && !hasFailed(transaction)) work(transaction)
  }

  function again(transaction: Transaction): void {
    if (isOutsideId(transaction.id)) return finish(transaction, 'displacedOutside')
    const times = timesDisplaced(context.lane.book, transaction.id)
    if (times > 1) events.emit('rebound', { tx: context.txOf(transaction), times })
    if (times > REBOUND_MAX) context.lane.holds.add('rebound', reboundOften(transaction.id, times))
    parts.queueAgain(transaction)
  }

  function landed(transaction: Transaction, hash: Hash | undefined): void {
    markLanded(transaction, context.clock)
    if (hash === undefined) return landedOnTheirWord(transaction)
    context.changed.add(transaction)
    context.lane.journal.touch(() => settleVerdict(transaction))
  }

  /**
   * The operator's decision names no attempt and no block, so there is no receipt and nothing to wait
   * for.
   */
  function landedOnTheirWord(transaction: Transaction): void {
    markLandedUnseen(transaction, context.clock)
    context.changed.add(transaction)
    context.lane.journal.touch(() => {
      settleVerdict(transaction)
      parts.forget(transaction)
    })
  }

  function ended(nonce: number, transaction: Transaction, as: EndAs): void {
    if (isBoundElsewhere(context.lane.book, transaction, nonce)) return
    if (as === 'superseded') update(transaction, { supersededBy: heirIn(context.lane.book.get(nonce)) })
    finish(transaction, as)
  }

  function finish(transaction: Transaction, as: EndAs | 'displacedOutside'): void {
    const { code, message } = ENDS[as]
    const why = as === 'voided' ? sayGivenUp(transaction) : message
    const error = transaction.notes?.withdrawError ?? txError(transaction, code, 'notExecuted', why)
    endWith(context, transaction, error, parts.forget)
  }

  return perform
}

/** Emits the events of the table. */
function createAnnouncements(context: RunActionsContext, transactionOf: ActionRunnerParts['transactionOf']) {
  const { events, transactions } = context

  /** Emits `unresolved` once per transaction bound to the nonce, or once without a transaction. */
  function unresolved(nonce: number): void {
    const slot = context.lane.book.get(nonce)
    const claims = slot?.state === 'used' ? slot.claims : []
    if (claims.length === 0) events.emit('unresolved', { nonce, tx: undefined })
    for (const claim of claims) {
      const transaction = transactions.get(claim)
      if (transaction && !hasFailed(transaction)) reportUnresolved(context.session, transaction)
    }
  }

  return (nonce: number, event: EmittedEvent): void => {
    const transaction = transactionOf(nonce)
    const tx = transaction && context.txOf(transaction)
    switch (event) {
      case 'unresolved':
        return unresolved(nonce)
      case 'stuck':
      case 'feeCeiling':
        if (tx) events.emit(event, { tx })
        return
      case 'sealed':
      case 'preconfirmed':
        // `stages.ts` emits these together with the stage.
        return
      case 'foreign':
        return void emitForeign(context, { nonce, tx, ...foreignIn(context.lane.book.get(nonce)) })
      default:
        return events.emit(event, { nonce, tx })
    }
  }
}

/**
 * The transaction that took the nonce from the others that were bound to it. Of several consecutive
 * replacements it is the last one.
 */
function heirIn(slot: Slot | undefined): string | undefined {
  if (slot?.state === 'used' && slot.by.kind === 'claim') return slot.by.claim
  return slot && lastClaim(slot)
}

const ENDS: Record<EndAs | 'displacedOutside', { code: TxlaneErrorCode; message: string }> = {
  rejected: { code: 'REJECTED', message: 'No node can include these bytes.' },
  voided: { code: 'REJECTED', message: 'A no-op took its nonce.' },
  withdrawn: { code: 'ABORTED', message: 'It was withdrawn before it was sent.' },
  cancelled: { code: 'CANCELLED', message: 'It was cancelled.' },
  superseded: { code: 'SUPERSEDED', message: 'Its replacement took the nonce.' },
  tooLate: { code: 'TOO_LATE', message: 'The transaction to be replaced had landed already.' },
  displacedOutside: {
    code: 'REJECTED',
    message: 'Something else used the nonce of these bytes, which were signed outside this lane.',
  },
}
