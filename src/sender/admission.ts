import { type Hash, keccak256, stringToHex } from 'viem'
import type { Clock, Random } from '../clock.js'
import { type Fate, TxlaneError } from '../errors/base.js'
import { hasEnded } from '../store/ended.js'
import type { Store, StoredTransaction } from '../store/store.js'
import type { SendOptions, TxRequest } from '../types.js'
import { txError } from './context.js'
import type { LaneHandle } from './handle.js'
import type { Hub } from './hub.js'
import { createKeeper } from './keeper.js'
import { privateOf } from './privacy.js'
import { end, fromStored, refresh, type Transaction, tellEnd, toStored, untouched } from './transaction.js'

export type Admitted = {
  readonly transaction: Transaction
  /** It is to be sent. Otherwise its id was known, and it is what became of that. */
  readonly fresh: boolean
}

/** Makes what is sent a transaction of the lane, whoever works it: one id is one transaction, in every process. */
export type Admission = {
  /**
   * Resolves once it is kept in the store. `taking` is called before, in the same turn; `dropped` where it turns out
   * that it is not to be sent.
   */
  admit(
    request: TxRequest,
    options: SendOptions,
    parts: {
      readonly replaces: Transaction | undefined
      readonly taking: (transaction: Transaction) => void
      readonly dropped: (transaction: Transaction) => void
    },
  ): Promise<Admitted>
  /** Nothing is taken on any more. */
  close(): void
  /** The order of arrival of one more transaction. */
  nextSequence(): number
  /** One of this place in the order is known. */
  seen(sequence: number): void
}

const CLOSED = 'The sender was closed before it was sent.'
const NO_FINGERPRINT: Hash = `0x${'0'.repeat(64)}`

export function createAdmission(parts: {
  readonly handle: LaneHandle
  readonly hub: Pick<Hub, 'endpoints'>
  readonly store: Pick<Store, 'enqueue'>
  readonly random: Random
  readonly clock: Clock
}): Admission {
  const { handle, random, clock } = parts
  const { transactions, key } = handle
  const keepInStore = createKeeper(parts.store)
  let sequence = 0
  let closed = false

  async function admit(
    request: TxRequest,
    options: SendOptions,
    { replaces, taking, dropped }: Parameters<Admission['admit']>[2],
  ): Promise<Admitted> {
    const transaction = create(request, options, replaces)
    const known = transactions.get(transaction.id)
    if (known) return { transaction: same(known, transaction), fresh: false }
    if (closed) throw txError(transaction, 'CLOSED', fateUnkept(options), CLOSED)
    transactions.set(transaction.id, transaction)
    taking(transaction)
    try {
      const stored = await keep(transaction)
      // What was kept and never taken up (its answer was lost) is taken up now.
      const fresh = stored === undefined || stored.stage === 'queued'
      if (stored !== undefined) become(transaction, stored)
      if (!fresh) dropped(transaction)
      return { transaction, fresh }
    } catch (error) {
      dropped(transaction)
      throw error
    }
  }

  async function keep(transaction: Transaction): Promise<StoredTransaction | undefined> {
    try {
      const kept = await keepInStore(toStored(transaction))
      if (!kept.fresh) return kept.transaction
      transaction.sequence = kept.transaction.sequence
      sequence = Math.max(sequence, transaction.sequence)
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

  /** The id is known from an earlier time, or from another process: whoever waits for this one waits for that. */
  function become(transaction: Transaction, stored: StoredTransaction): void {
    if (!means(stored, transaction)) throw refused(transaction, conflict(fromStored(stored)))
    // Its first caller wanted it private, with the gas that this takes.
    if (stored.private && !transaction.private) refresh(transaction, stored)
    if (stored.stage === 'queued') {
      transaction.sequence = stored.sequence
      return
    }
    refresh(transaction, stored)
    if (!hasEnded(stored.stage)) return
    forget(transaction)
    tellEnd(transaction)
  }

  function forget(transaction: Transaction): void {
    if (transactions.get(transaction.id) === transaction) transactions.delete(transaction.id)
  }

  function create(request: TxRequest, options: SendOptions, replaces: Transaction | undefined): Transaction {
    const { after, afterStage, afterStatus, deploys, effect } = options
    const isPrivate = privateOf(parts.hub, request, options, replaces)
    const needy = after !== undefined || deploys !== undefined || effect !== undefined
    return {
      ...untouched,
      id: options.id ?? randomId(random),
      lane: key,
      request,
      // An id of our own making meets no second request: only the caller's need one.
      fingerprint: options.id === undefined ? NO_FINGERPRINT : fingerprintOf(key.address, request),
      sequence: ++sequence,
      priority: options.priority ?? 0,
      feeCeiling: options.feeCeiling,
      createdAtMs: clock.now(),
      expiresAtMs: options.expires?.atMs,
      onExpiry: options.onExpiry ?? 'leave',
      outside: false,
      ...(isPrivate ? { private: true } : {}),
      needs: needy ? { after, afterStage, afterStatus, deploys, effect } : undefined,
      replaces,
    }
  }

  return {
    admit,
    close() {
      closed = true
    },
    nextSequence: () => ++sequence,
    seen(known) {
      sequence = Math.max(sequence, known)
    },
  }
}

function same(known: Transaction, asked: Transaction): Transaction {
  if (means(known, asked)) return known
  throw conflict(known)
}

type Meant = Pick<StoredTransaction, 'fingerprint' | 'private'>

/** The same id stands for the same request; what was sent openly cannot be made private by sending it again. */
function means(known: Meant, asked: Meant): boolean {
  return known.fingerprint === asked.fingerprint && (known.private === true || asked.private !== true)
}

export function queueFull(queueMax: number): TxlaneError {
  return new TxlaneError(`The queue is full: ${queueMax} transactions wait.`, {
    code: 'QUEUE_FULL',
    fate: 'notExecuted',
  })
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
