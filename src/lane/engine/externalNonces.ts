import type { LocalAccount } from 'viem'
import { createDeadlines } from '../../allocator/deadlines.js'
import { createJournalWaits } from '../../allocator/journalWaits.js'
import type { Lane } from '../../allocator/lane.js'
import { type EndpointPool, newestBlock } from '../../chain/endpoints/endpointPool.js'
import { TxlaneError } from '../../errors/base.js'
import type { Attempt, Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { Limits } from '../../types/index.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import { type Envelope, outsideTransaction } from '../transaction/outside.js'
import type { Transaction } from '../transaction/transaction.js'

type ExternalNoncesContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly clock: Clock
  readonly limits: Limits
  signer: LocalAccount | undefined
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  readonly closed: boolean
}

/** Nonces that outside code has reserved: rows 8 to 11. */
export type ExternalNonces = {
  /** Reserves the lowest hole, otherwise the cursor. The caller must hold the lane's mutex. */
  handOut(): number
  /** Resolves once all earlier reservations and releases are in the store. */
  written(): Promise<void>
  /** Row 9. Resolves once the bytes are in the store. Before that the bytes must not be sent. */
  commit(nonce: number, envelope: Envelope): Promise<Transaction>
  /** Row 10. */
  release(nonce: number): void
  /** The reservation was confirmed, so its time starts over. */
  renew(nonce: number): void
  /**
   * The result of sending committed bytes. Any result other than an acceptance and an intrinsic refusal is
   * unknown.
   */
  outcome(nonce: number, envelope: Envelope, outcome: SendOutcome['outcome']): void
  /** Sets the deadlines of an earlier process's reservations. */
  start(): void
  stop(): void
}

export function createExternalNonces(options: {
  context: ExternalNoncesContext
  nextSequence: () => number
  /** A nonce came free. */
  freed: () => void
}): ExternalNonces {
  const { context } = options
  const { lane, limits, clock, transactions, changed } = context
  const { book } = lane
  const deadlines = createDeadlines<number>({ clock, afterMs: limits.reservationTtlMs, due: expire })
  const waits = createJournalWaits(lane.journal)

  /** Row 11. Without a signer, `gap` is emitted again and again until the gap is filled. */
  function expire(nonce: number): void {
    if (!isHandedOut(book.get(nonce))) return
    lane.apply(nonce, { type: 'ttl', signer: context.signer !== undefined, token: lane.token() })
    if (isHandedOut(book.get(nonce))) deadlines.set(nonce)
  }

  function written(hasBytes: boolean): Promise<void> {
    if (context.closed) return Promise.reject(closed())
    return waits.written(hasBytes)
  }

  async function commit(nonce: number, envelope: Envelope): Promise<Transaction> {
    if (context.closed) throw closed()
    const slot = book.get(nonce)
    if (slot === undefined || slot.state === 'final' || (slot.state === 'used' && slot.settled))
      throw tooLate(slot, envelope)
    const { transaction, isFresh } = transactionAt(slot, envelope)
    const attempt: Attempt = {
      hash: envelope.hash,
      raw: envelope.raw,
      fees: envelope.fees,
      gas: envelope.gas,
      claim: transaction.id,
      epoch: lane.lease.epoch,
      // The caller that committed the bytes is about to send them, so a send of this lane would be the
      // second one.
      sends: 1,
      accepted: false,
      madeAt: newestBlock(context),
    }
    deadlines.forget(nonce)
    changed.add(transaction)
    lane.apply(nonce, { type: 'outsideCommitted', attempt })
    try {
      await written(true)
    } catch (error) {
      // If the write succeeded all the same, the next lease owner reads the transaction from the store.
      if (isFresh) transactions.delete(transaction.id)
      throw error
    }
    return transaction
  }

  /** Different bytes for the same reservation are another attempt of the same transaction. */
  function transactionAt(slot: Slot, envelope: Envelope): { transaction: Transaction; isFresh: boolean } {
    const claims = slot.state === 'live' || slot.state === 'used' ? slot.claims : []
    const claim = claims.find(isOutsideId)
    if (slot.state === 'hole' || slot.state === 'reserved' || (claims.length > 0 && claim === undefined))
      throw given(slot)
    const known = claim === undefined ? undefined : transactions.get(claim)
    if (known) return { transaction: known, isFresh: false }
    const fresh = outsideTransaction(envelope, {
      lane: lane.key,
      sequence: options.nextSequence(),
      createdAtMs: clock.wallNow(),
    })
    transactions.set(fresh.id, fresh)
    return { transaction: fresh, isFresh: true }
  }

  return {
    handOut() {
      const nonce = lane.next()
      lane.apply(nonce, { type: 'handOut' })
      deadlines.set(nonce)
      return nonce
    },
    written: () => written(false),
    commit,
    release(nonce) {
      deadlines.forget(nonce)
      lane.apply(nonce, { type: 'released' })
      options.freed()
    },
    renew(nonce) {
      if (isHandedOut(book.get(nonce))) deadlines.set(nonce)
    },
    outcome(nonce, { hash }, outcome) {
      const said = outcome === 'accepted' || outcome === 'intrinsic' ? outcome : 'unknown'
      lane.apply(nonce, { type: 'outcome', hash, outcome: said, epoch: lane.lease.epoch })
    },
    start() {
      for (const slot of book.slots.values()) if (isHandedOut(slot)) deadlines.set(slot.nonce)
    },
    stop() {
      deadlines.stop()
      waits.stop((mayBeSent) => (mayBeSent ? closedInMidWrite() : closed()))
    },
  }
}

function isHandedOut(slot: Slot | undefined): boolean {
  return slot?.state === 'outside' && slot.origin === 'handedOut'
}

function given({ nonce }: Slot): TxlaneError {
  return new TxlaneError(`Nonce ${nonce} is not reserved for these bytes: the lane may use it itself.`, {
    code: 'INVALID',
    fate: 'notExecuted',
  })
}

function tooLate(slot: Slot | undefined, { hash }: Envelope): TxlaneError {
  const by = slot?.state === 'used' ? slot.by : undefined
  const executed = by !== undefined && 'hash' in by && by.hash === hash
  const known = by !== undefined && by.kind !== 'unproven'
  return new TxlaneError('The nonce of these bytes is used already.', {
    code: 'TOO_LATE',
    fate: executed ? 'executed' : known ? 'notExecuted' : 'inFlight',
  })
}

/**
 * The store was asked to persist the bytes and has not answered. The next lease owner may find and send them.
 */
function closedInMidWrite(): TxlaneError {
  return new TxlaneError(
    'The lane was closed before the store answered: the bytes may be journaled. Do not send them; look them up by their hash.',
    { code: 'CLOSED', fate: 'inFlight' },
  )
}

function closed(): TxlaneError {
  return new TxlaneError('The lane was closed; the bytes are not journaled: do not send them.', {
    code: 'CLOSED',
    fate: 'notExecuted',
  })
}
