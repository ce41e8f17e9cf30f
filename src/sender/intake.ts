import { type Hash, keccak256, stringToHex } from 'viem'
import { type Fate, TxlaneError } from '../errors/base.js'
import { lastClaim } from '../ledger/slot.js'
import type { StoredTransaction } from '../store/store.js'
import type { SendOptions, TxRequest } from '../types.js'
import { type LaneContext, txError } from './context.js'
import { attemptCostBound } from './cost.js'
import { createKeeper } from './keeper.js'
import type { Line } from './line.js'
import { endStage } from './perform.js'
import type { Preparer } from './prepare.js'
import type { Pump } from './pump.js'
import {
  end,
  fromStored,
  hasFailed,
  moveTo,
  type Transaction,
  tellEnd,
  toStored,
  untouched,
} from './transaction.js'

/** Where transactions come in, and where those that have no nonce yet go out again. */
export type Intake = {
  /** Queued transactions: they have no nonce and have not ended. */
  readonly open: number
  /** Resolves once it is kept in the store; with the one that is there already where the id is known. */
  add(request: TxRequest, options: SendOptions, replaces?: Transaction): Promise<Transaction>
  /** The order of arrival of one more transaction. */
  nextSequence(): number
  /** It has a nonce. */
  bound(id: string): void
  /** It has none any more. */
  again(transaction: Transaction): void
  /** Prepared, and to go to the nonce of what it replaces. */
  place(transaction: Transaction): void
  /** Ends one that has no nonce. */
  failed(transaction: Transaction, error: TxlaneError): void
  /**
   * Ends one for which nothing is journaled. False where bytes may be out already: a commit in flight counts.
   */
  remove(transaction: Transaction, error: TxlaneError): boolean
  /** Asks for a cancel of one that is journaled; the answer comes with the chain's verdict. */
  askEnd(transaction: Transaction): void
  /** The lane is not to wait for money: ends what waits in line, all of it or what may cost more than `overWei`. */
  starved(error: TxlaneError, overWei: bigint | undefined): void
  forget(transaction: Transaction): void
  /** Knows again what was read from the store. */
  restore(transaction: Transaction): void
  /** Another process left it in the store for this one to send. Nothing where it is known already. */
  arrived(stored: StoredTransaction): Promise<void>
  /** Takes it up where it stands: with a nonce it goes on by itself, without one it is queued. */
  resume(transaction: Transaction): void
  /** Ends everything that has no nonce. From now on nothing is taken on. */
  close(): void
}

const CLOSED = 'The sender was closed before it was sent.'
const NO_FINGERPRINT: Hash = `0x${'0'.repeat(64)}`

export function createIntake(parts: {
  context: LaneContext
  line: Line<Transaction>
  preparer: Preparer
  pump: Pump
  /** It has its place in the order of arrival. */
  kept(sequence: number): void
}): Intake {
  const { context, line, preparer, pump } = parts
  const { lane, transactions, events, limits, random, clock, store } = context
  const keepInStore = createKeeper(store)
  const queued = new Set<Transaction>()
  let sequence = 0
  let closed = false

  async function add(request: TxRequest, options: SendOptions, replaces?: Transaction): Promise<Transaction> {
    if (queued.size >= limits.queueMax) {
      throw new TxlaneError(`The queue is full: ${limits.queueMax} transactions wait.`, {
        code: 'QUEUE_FULL',
        fate: 'notExecuted',
      })
    }
    const transaction = create(request, options, replaces)
    const known = transactions.get(transaction.id)
    if (known) return same(known, transaction)
    if (closed) throw txError(transaction, 'CLOSED', fateUnkept(options), CLOSED)
    transactions.set(transaction.id, transaction)
    queued.add(transaction)
    const stored = await keep(transaction)
    // What was kept and never taken up (its answer was lost) is taken up now.
    if (stored && (stored.stage !== 'queued' || stored.fingerprint !== transaction.fingerprint))
      return become(transaction, stored)
    events.emit('queued', { tx: context.txOf(transaction) })
    if (!hasFailed(transaction)) arm(transaction, options.signal)
    if (!hasFailed(transaction)) preparer.add(transaction)
    return transaction
  }

  async function known(id: string): Promise<Transaction | undefined> {
    const here = transactions.get(id)
    if (here !== undefined) return here
    const stored = await store.find(lane.key, { id })
    return stored && fromStored(stored)
  }

  async function keep(transaction: Transaction): Promise<StoredTransaction | undefined> {
    try {
      const kept = await keepInStore(toStored(transaction))
      if (!kept.fresh) return kept.transaction
      transaction.sequence = kept.transaction.sequence
      sequence = Math.max(sequence, transaction.sequence)
      parts.kept(sequence)
      return undefined
    } catch (error) {
      throw refused(transaction, storeError(transaction, error))
    }
  }

  /** It was not taken on. Others may have found it by its id meanwhile, and wait for it. */
  function refused(transaction: Transaction, error: TxlaneError): TxlaneError {
    end(transaction, 'failed', error)
    forget(transaction)
    tellEnd(transaction)
    return error
  }

  /** The id is known from an earlier time: whoever waits for this one is told what became of that. */
  function become(transaction: Transaction, stored: StoredTransaction): Transaction {
    if (stored.fingerprint !== transaction.fingerprint)
      throw refused(transaction, conflict(fromStored(stored)))
    const { waiters, verdicts } = transaction
    Object.assign(transaction, fromStored(stored), { waiters, verdicts })
    transaction.settled = !hasFailed(transaction)
    forget(transaction)
    moveTo(transaction, stored.stage)
    tellEnd(transaction)
    return transaction
  }

  function create(request: TxRequest, options: SendOptions, replaces: Transaction | undefined): Transaction {
    const { after, afterStage, afterStatus, deploys, effect } = options
    const needy = after !== undefined || deploys !== undefined || effect !== undefined
    return {
      ...untouched,
      id: options.id ?? randomId(random),
      lane: lane.key,
      request,
      // An id of our own making meets no second request: only the caller's need one.
      fingerprint: options.id === undefined ? NO_FINGERPRINT : fingerprintOf(lane.key.address, request),
      sequence: ++sequence,
      priority: options.priority ?? 0,
      feeCeiling: options.feeCeiling,
      createdAtMs: clock.now(),
      expiresAtMs: options.expires?.atMs,
      onExpiry: options.onExpiry ?? 'leave',
      outside: false,
      needs: needy ? { after, afterStage, afterStatus, deploys, effect } : undefined,
      replaces,
    }
  }

  function same(known: Transaction, asked: Transaction): Transaction {
    if (known.fingerprint === asked.fingerprint) return known
    throw conflict(known)
  }

  /** What ends the caller's interest: a deadline, a signal. */
  function arm(transaction: Transaction, signal?: AbortSignal): void {
    const { expiresAtMs, onExpiry } = transaction
    if (signal?.aborted) return giveUp(transaction, 'ABORTED', 'It was aborted.', false)
    const cancels: (() => void)[] = []
    if (expiresAtMs !== undefined) {
      const expire = () => giveUp(transaction, 'EXPIRED', 'It expired.', onExpiry === 'cancel')
      cancels.push(clock.setTimer(expire, Math.max(0, expiresAtMs - clock.now())))
    }
    if (signal) {
      const abort = () => giveUp(transaction, 'ABORTED', 'It was aborted.', false)
      signal.addEventListener('abort', abort, { once: true })
      cancels.push(() => signal.removeEventListener('abort', abort))
    }
    if (cancels.length > 0) {
      transaction.cancelTimers = () => {
        for (const cancel of cancels) cancel()
      }
    }
  }

  /** Not journaled: removed. Journaled: the pending `send` is told, the work goes on. */
  function giveUp(
    transaction: Transaction,
    code: 'EXPIRED' | 'ABORTED',
    message: string,
    cancel: boolean,
  ): void {
    if (remove(transaction, txError(transaction, code, 'notExecuted', message))) return
    const error = txError(
      transaction,
      code,
      'inFlight',
      `${message} Its bytes were journaled: it may still execute.`,
    )
    const senders = transaction.waiters?.filter((waiter) => waiter.stage === 'accepted') ?? []
    transaction.waiters = transaction.waiters?.filter((waiter) => waiter.stage !== 'accepted')
    for (const waiter of senders) waiter.failed(error)
    if (cancel) askEnd(transaction)
  }

  /** Row 21. What was replaced already ends by itself: a cancel of it must not reach its replacement. */
  function askEnd(transaction: Transaction): void {
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    if (slot === undefined || lastClaim(slot) !== transaction.id) return
    lane.apply(slot.nonce, { type: 'cancel', token: lane.token() })
  }

  function remove(transaction: Transaction, error: TxlaneError): boolean {
    if (hasFailed(transaction)) return true
    if (queued.has(transaction)) {
      failed(transaction, error)
      return true
    }
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    if (slot?.state !== 'reserved' || slot.claim !== transaction.id) return false
    transaction.withdrawn = error
    const { row } = lane.apply(slot.nonce, { type: 'withdraw', claim: transaction.id, why: 'failed' })
    if (row === 0) transaction.withdrawn = undefined
    return row !== 0
  }

  function failed(transaction: Transaction, error: TxlaneError): void {
    if (hasFailed(transaction)) return
    const stage = endStage(error.code)
    end(transaction, stage, error)
    queued.delete(transaction)
    line.remove(transaction)
    context.changed.add(transaction)
    lane.journal.touch(() => {
      tellEnd(transaction)
      events.emit(stage, { tx: context.txOf(transaction) })
      forget(transaction)
    })
    pump.run()
  }

  /** Row 22, unless what was to be replaced has meanwhile gone another way. */
  function place(transaction: Transaction): void {
    const { replaces } = transaction
    const nonce = replaces?.nonce
    const slot = nonce === undefined ? undefined : lane.book.get(nonce)
    if (replaces === undefined || hasFailed(transaction) || context.closed) return
    if (
      nonce !== undefined &&
      slot?.state === 'live' &&
      slot.end === undefined &&
      slot.claims.includes(replaces.id)
    ) {
      queued.delete(transaction)
      transaction.nonce = nonce
      lane.apply(nonce, { type: 'replace', claim: transaction.id, token: lane.token() })
      events.emit('replaced', { tx: context.txOf(replaces) })
      return
    }
    if (slot?.state === 'reserved' && slot.claim === replaces.id) {
      const superseded = txError(replaces, 'SUPERSEDED', 'notExecuted', 'Its replacement took its place.')
      // A commit under way counts as journaled: its answer decides, and then this is asked again.
      if (!remove(replaces, superseded)) return void lane.journal.flushed().then(() => place(transaction))
    }
    if (queued.has(replaces)) {
      failed(replaces, txError(replaces, 'SUPERSEDED', 'notExecuted', 'Its replacement took its place.'))
    }
    if (replaces.failure?.code === 'SUPERSEDED') {
      line.add(transaction)
      return pump.run()
    }
    failed(
      transaction,
      txError(transaction, 'TOO_LATE', 'notExecuted', 'What it was to replace has landed or ended.'),
    )
  }

  function forget(transaction: Transaction): void {
    queued.delete(transaction)
    line.remove(transaction)
    if (transactions.get(transaction.id) === transaction) transactions.delete(transaction.id)
  }

  return {
    get open() {
      return queued.size
    },
    add,
    nextSequence: () => ++sequence,
    bound(id) {
      const transaction = transactions.get(id)
      if (transaction) queued.delete(transaction)
    },
    again: (transaction) => void queued.add(transaction),
    place,
    failed,
    remove,
    askEnd,
    starved(error, overWei) {
      for (const transaction of [...line]) {
        if (overWei !== undefined && attemptCostBound(context, transaction) <= overWei) continue
        failed(transaction, txError(transaction, 'STARVED', 'notExecuted', error.shortMessage))
      }
    },
    forget,
    restore(transaction) {
      sequence = Math.max(sequence, transaction.sequence)
      transactions.set(transaction.id, transaction)
    },
    async arrived(stored) {
      if (stored.stage !== 'queued' || transactions.has(stored.id)) return
      const replaces = stored.replaces === undefined ? undefined : await known(stored.replaces)
      if (closed || transactions.has(stored.id)) return
      const transaction = { ...fromStored(stored), replaces }
      sequence = Math.max(sequence, transaction.sequence)
      transactions.set(transaction.id, transaction)
      queued.add(transaction)
      events.emit('queued', { tx: context.txOf(transaction) })
      arm(transaction)
      preparer.add(transaction)
    },
    resume(transaction) {
      if (transaction.nonce === undefined) queued.add(transaction)
      arm(transaction)
      if (queued.has(transaction)) preparer.add(transaction)
    },
    close() {
      closed = true
      for (const transaction of [...queued])
        failed(transaction, txError(transaction, 'CLOSED', 'notExecuted', CLOSED))
    },
  }
}

/** An id of the caller's own may be in the store from an earlier life, which may have sent it. */
function fateUnkept({ id }: SendOptions): Fate {
  return id === undefined ? 'notExecuted' : 'inFlight'
}

/** Where nobody can tell whether the store took it, a later life may find it there and send it. */
function storeError(transaction: Transaction, cause: unknown): TxlaneError {
  const unknown = (cause as { details?: unknown } | undefined)?.details === 'unknown'
  const message = 'The store did not take the transaction.'
  return txError(transaction, 'STORE', unknown ? 'inFlight' : 'notExecuted', message, cause)
}

function conflict(known: Transaction): TxlaneError {
  const message = `The id ${JSON.stringify(known.id)} stands for another request.`
  return txError(known, 'ID_CONFLICT', 'notExecuted', message)
}

/** 128 bits of chance as hex. */
function randomId(random: () => number): string {
  let id = ''
  for (let part = 0; part < 4; part++) {
    id += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  }
  return id
}

/** What the caller wants to happen, without how much is paid for it. */
function fingerprintOf(from: string, request: TxRequest): Hash {
  const { to, data, value, accessList, authorize } = request
  const authorizations = authorize?.map((one) => [
    one.contractAddress.toLowerCase(),
    one.account?.address.toLowerCase(),
  ])
  const parts = [
    from,
    to?.toLowerCase() ?? null,
    data ?? '0x',
    value ?? 0n,
    accessList ?? null,
    authorizations ?? null,
  ]
  return keccak256(
    stringToHex(JSON.stringify(parts, (_, part) => (typeof part === 'bigint' ? `${part}` : part))),
  )
}
