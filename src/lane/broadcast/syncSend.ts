import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { askSendSync } from '../../chain/endpoints/sendSyncProbe.js'
import type { DeliveryAction } from '../../delivery/delivery.js'
import type { Attempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { classifyReply } from '../../rpc/classify.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { ProfileWatch } from '../../rpc/profile.js'
import { refusesSendSync, SEND_SYNC, SYNC_MS_MAX, sendSyncCall } from '../../rpc/sendSync.js'
import type { Limits } from '../../types/index.js'
import type { Transaction } from '../transaction/transaction.js'
import { receiptWithinMsOf } from '../transaction/waiters.js'
import type { EndpointSenderParts, Said } from './endpointSender.js'
import { PUBLIC, type Recipients } from './fanOut.js'

/** How the bytes of a request go out, and what its answers mean. */
export type SendForm = {
  callOf(attempt: Attempt): RpcCall
  outcomeOf(attempt: Attempt, reply: RpcReply | undefined): SendOutcome
  /** Milliseconds after which the request counts as unanswered. */
  readonly timeoutMs: number
  /** The answer waits for the receipt. */
  readonly isSync: boolean
}

/**
 * The form of a request. `receiptWithinMs`: for how long a caller waits for the receipt of this nonce.
 */
export function sendFormOf(
  { kind, nonces: [first] }: Pick<Extract<DeliveryAction, { do: 'send' }>, 'kind' | 'nonces'>,
  { profile }: Pick<PoolEndpoint, 'profile'>,
  parts: {
    readonly sendTimeoutMs: number
    readonly receiptWithinMs: (nonce: number) => number | undefined
  },
): SendForm {
  const { sendTimeoutMs: timeoutMs, receiptWithinMs } = parts
  if (kind !== 'sync' || first === undefined) return { ...PLAIN, timeoutMs }
  const waitMs = Math.min(SYNC_MS_MAX, receiptWithinMs(first) ?? SYNC_MS_MAX)
  const { sendSync } = profile.current()
  return {
    callOf: ({ raw }) => sendSyncCall(raw, sendSync, waitMs),
    outcomeOf(attempt, reply) {
      const outcome = outcomeOf(attempt, reply)
      const isRefused = refusesSendSync(reply, outcome)
      noteAnswer(profile, outcome, isRefused)
      // The bytes go again in the ordinary way, and that answer counts.
      return isRefused ? METHOD_MISSING : outcome
    },
    timeoutMs: waitMs + timeoutMs,
    isSync: true,
  }
}

const METHOD_MISSING: SendOutcome = { outcome: 'unknown', reason: 'methodMissing', counted: false }
const UNANSWERED: SendOutcome = { outcome: 'unknown', reason: 'unknown', counted: false }

const outcomeOf = ({ hash }: Attempt, reply: RpcReply | undefined): SendOutcome =>
  reply === undefined ? UNANSWERED : classifyReply(reply, hash)

const PLAIN: Omit<SendForm, 'timeoutMs'> = {
  callOf: ({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] }),
  outcomeOf,
  isSync: false,
}

function noteAnswer(profile: ProfileWatch, { outcome, reason }: SendOutcome, isRefused: boolean): void {
  if (isRefused) profile.observe({ kind: 'methodRefused', method: SEND_SYNC })
  else if (outcome === 'unknown') profile.observe({ kind: 'sendSyncLost' })
  else if (reason !== 'rateLimited') profile.observe({ kind: 'sendSyncAnswered' })
}

/**
 * An endpoint that pre-confirms names the hash of a partial block, or zeros, which no later answer shows. Until
 * that is known, no hash is believed.
 */
function showsSealed({ profile }: PoolEndpoint): boolean {
  const { pending } = profile.current()
  return pending !== 'preconfirmed' && pending !== 'unknown'
}

/** Sends whose answer is the receipt. */
type SyncSends = Pick<EndpointSenderParts, 'receiptWithinMs'> & {
  /** A caller waits for a receipt: the endpoints for new nonces are asked whether they can give it. */
  receiptAwaited(): void
  /** Takes the receipt in an answer. It pre-confirms the transaction; the walk decides the rest. */
  said(reply: Said): void
}

export function createSyncSends(
  context: {
    readonly lane: Lane
    readonly endpointPool: Pick<EndpointPool, 'receipts' | 'tracker'>
    readonly clock: Clock
    readonly limits: Pick<Limits, 'readTimeoutMs'>
    readonly transactions: ReadonlyMap<string, Transaction>
  },
  parts: {
    readonly recipients: Recipients
    readonly transactionOf: (nonce: number) => Transaction | undefined
    /** The number of transactions that wait for a nonce. */
    readonly waiting: () => number
  },
): SyncSends {
  const { clock, endpointPool, transactions } = context
  const { book } = context.lane
  const { tracker } = endpointPool
  const timeoutMs = context.limits.readTimeoutMs

  return {
    receiptWithinMs(nonce) {
      const isOnly = nonce === book.coveredTo && nonce + 1 === book.cursor && parts.waiting() === 0
      const transaction = isOnly ? parts.transactionOf(nonce) : undefined
      return transaction && receiptWithinMsOf(transaction)
    },
    receiptAwaited() {
      for (const endpoint of parts.recipients.of(PUBLIC, false)) askSendSync(endpoint, { clock, timeoutMs })
    },
    said({ attempt: { hash, claim }, reply, endpoint }) {
      const transaction = claim === undefined ? undefined : transactions.get(claim)
      if (transaction === undefined || !reply?.ok) return
      const receipt = endpointPool.receipts.read(reply.result, hash)
      if (receipt === undefined) return
      transaction.answeredReceipt = showsSealed(endpoint) ? receipt : { ...receipt, blockHash: null }
      const number = Number(receipt.blockNumber)
      // The walk has passed that block, and has taken the transaction from it or not.
      if (number <= (tracker.head?.number ?? 0)) return
      tracker.observe(number, [hash])
      tracker.lookNow()
    },
  }
}
