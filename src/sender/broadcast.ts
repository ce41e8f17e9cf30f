import type { Hash } from 'viem'
import { createMinHeap } from '../ledger/heap.js'
import { type Attempt, newestAttempt } from '../ledger/slot.js'
import { classifyReply } from '../rpc/classify.js'
import { decodeNumber } from '../rpc/codec.js'
import type { SendOutcome } from '../rpc/outcome.js'
import type { RpcCall, RpcReply } from '../rpc/port.js'
import { batchRefusal } from '../rpc/ports/envelope.js'
import type { LaneContext } from './context.js'
import type { HubEndpoint } from './hub.js'

/**
 * Hands journaled bytes to an endpoint: nonce-ordered JSON-RPC batches, one URL at a time, no linger when idle.
 * Nothing is sent twice by itself; what becomes of an attempt is the table's to say.
 */
export type Broadcaster = {
  /** The newest attempt of this nonce is to be sent. */
  add(nonce: number): void
  /** Something that held bytes back (a lower reservation, a rest) may be over. */
  kick(): void
  /** Resolves when no request is open. */
  idle(): Promise<void>
}

type Sending = { readonly nonce: number; readonly attempt: Attempt; readonly fresh: boolean }

// Well below the body limits that hosted providers set; a batch is cut where it would pass it.
const BATCH_BYTES_MAX = 512 * 1024
const REST_MS = 250

export function createBroadcaster(
  context: LaneContext,
  told: {
    sent: (nonce: number) => void
    /** `words`: what the endpoint said, where it said anything but the hash. */
    outcome: (nonce: number, hash: Hash, outcome: SendOutcome, words: string | undefined) => void
  },
): Broadcaster {
  const { lane, hub, limits, clock, random } = context
  const heap = createMinHeap()
  const queued = new Set<number>()
  let open = 0
  let scheduled = false
  let resting = false
  let batchMax = limits.batchMax
  // The endpoint whose turn it is: moved on when it left us without an answer.
  let turn = 0
  let acceptedTo = 0
  const idlers: (() => void)[] = []

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    queueMicrotask(() => {
      scheduled = false
      while (open < limits.requestsMax && postNext()) {}
      if (open === 0) for (const done of idlers.splice(0)) done()
    })
  }

  function postNext(): boolean {
    // The endpoint may be shared, and stays open then.
    if (context.closed) return false
    const endpoint = available()
    if (endpoint === undefined) return false
    const batch = take(Math.min(batchMax, endpoint.profile.current().batch.sizeMax ?? batchMax))
    if (batch.length === 0) return false
    open++
    void post(endpoint, batch).finally(() => {
      open--
      schedule()
    })
    return true
  }

  /** The lowest nonces whose bytes are committed, with no reservation below that awaits its commit (P6). */
  function take(max: number): Sending[] {
    const gate = lane.book.lowestReserved() ?? Number.POSITIVE_INFINITY
    const batch: Sending[] = []
    let bytes = 0
    for (
      let nonce = heap.peek();
      nonce !== undefined && nonce < gate && batch.length < max;
      nonce = heap.peek()
    ) {
      const sending = sendingAt(nonce)
      if (sending && bytes + sending.attempt.raw.length > BATCH_BYTES_MAX && batch.length > 0) break
      heap.pop()
      queued.delete(nonce)
      if (sending === undefined) continue
      bytes += sending.attempt.raw.length
      batch.push(sending)
    }
    return batch
  }

  function sendingAt(nonce: number): Sending | undefined {
    const slot = lane.book.get(nonce)
    const attempt = slot?.state === 'live' ? newestAttempt(slot) : undefined
    return attempt && { nonce, attempt, fresh: slot?.attempts.length === 1 && attempt.sends === 0 }
  }

  function available(): HubEndpoint | undefined {
    const endpoints = hub.senders()
    const now = clock.now()
    for (let step = 0; step < endpoints.length; step++) {
      const endpoint = endpoints[(turn + step) % endpoints.length]
      if (endpoint && endpoint.restUntilMs <= now) return endpoint
    }
    if (!resting && queued.size > 0 && endpoints.length > 0) {
      resting = true
      const until = Math.min(...endpoints.map((endpoint) => endpoint.restUntilMs))
      clock.setTimer(
        () => {
          resting = false
          schedule()
        },
        Math.max(1, until - now),
      )
    }
    return undefined
  }

  async function post(endpoint: HubEndpoint, batch: readonly Sending[]): Promise<void> {
    const covering = endpoint === hub.reader && countsAtPending(endpoint)
    const calls: RpcCall[] = batch.map(({ attempt }) => ({
      method: 'eth_sendRawTransaction',
      params: [attempt.raw],
    }))
    // Covering costs no round trip: the count rides along, last.
    if (covering) calls.push({ method: 'eth_getTransactionCount', params: [lane.key.address, 'pending'] })
    const before = advanceAccepted()
    for (const { nonce, attempt } of batch) {
      lane.apply(nonce, { type: 'sent', hash: attempt.hash })
      if (attempt.sends === 0) told.sent(nonce)
    }
    const replies = await endpoint.port.batch(calls, { timeoutMs: limits.sendTimeoutMs })
    noteWhole(endpoint, batch, replies)
    const outcomes = batch.map(({ attempt }, index) => outcomeOf(replies[index], attempt.hash))
    if (covering) noteCount(endpoint, batch, outcomes, replies[batch.length], before)
    batch.forEach(({ nonce, attempt }, index) => {
      const outcome = outcomes[index]
      if (outcome === undefined) return
      if (beginsAnew(attempt, outcome, replies[index])) told.sent(nonce)
      told.outcome(nonce, attempt.hash, outcome, wordsOf(replies[index]))
    })
  }

  /** Where the run of accepted nonces that starts at the covered ones ends: there is no gap below. */
  function advanceAccepted(): number {
    acceptedTo = Math.max(acceptedTo, lane.book.coveredTo)
    for (;;) {
      const slot = lane.book.get(acceptedTo)
      if (slot?.state !== 'live' || newestAttempt(slot)?.accepted !== true) return acceptedTo
      acceptedTo++
    }
  }

  /** What the answer as a whole says: asked too often, too large a batch, nobody there. */
  function noteWhole(endpoint: HubEndpoint, batch: readonly Sending[], replies: readonly RpcReply[]): void {
    const [first] = replies
    if (first === undefined || first.ok) return
    const { failure } = first
    const outcome = outcomeOf(first, batch[0]?.attempt.hash ?? '0x')
    if (outcome.reason === 'rateLimited') {
      endpoint.restUntilMs = clock.now() + (outcome.retryAfterMs ?? REST_MS) * (1 + random() / 4)
    }
    const tooLarge =
      batchRefusal(failure) !== undefined || (failure.kind === 'http' && failure.status === 413)
    if (tooLarge && batch.length > 1) {
      batchMax = Math.max(1, Math.floor(batch.length / 2))
      endpoint.profile.observe({ kind: 'batchRefused', size: batch.length })
    }
    if (outcome.outcome === 'unknown' || outcome.reason === 'rateLimited') turn++
  }

  function noteCount(
    endpoint: HubEndpoint,
    batch: readonly Sending[],
    outcomes: readonly SendOutcome[],
    reply: RpcReply | undefined,
    acceptedBefore: number,
  ): void {
    const count = countOf(reply)
    if (count === undefined) return
    const sentUpTo = freshRun(batch, outcomes, acceptedBefore)
    if (sentUpTo !== undefined) endpoint.profile.observe({ kind: 'countAfterSend', sentUpTo, count })
    if (endpoint.profile.current().pending === 'mempool') lane.book.counted(count)
  }

  return {
    add(nonce) {
      if (!queued.has(nonce)) {
        queued.add(nonce)
        heap.push(nonce)
      }
      schedule()
    },
    kick: schedule,
    idle() {
      if (open === 0 && !scheduled) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
    },
  }
}

/** Fresh nonces without a gap below, all accepted in this batch: only those tell what the count counts. */
function freshRun(
  batch: readonly Sending[],
  outcomes: readonly SendOutcome[],
  acceptedBefore: number,
): number | undefined {
  let next = acceptedBefore
  for (const [index, { nonce, fresh }] of batch.entries()) {
    if (nonce !== next || !fresh || outcomes[index]?.outcome !== 'accepted') break
    next++
  }
  return next > acceptedBefore ? next - 1 : undefined
}

function countsAtPending(endpoint: HubEndpoint): boolean {
  const { pending } = endpoint.profile.current()
  return pending === 'mempool' || pending === 'unknown'
}

/**
 * Whether there was nothing to wait for until now: the bytes reached nobody, were not wanted yet, or have just been
 * taken. A refusal that waiting does not cure, and words that nobody understands, let the time run on: else bytes
 * that are refused in every block would never be bumped, given up, or told to be stuck.
 */
function beginsAnew(attempt: Attempt, said: SendOutcome, reply: RpcReply | undefined): boolean {
  const { outcome, reason, counted } = said
  if (outcome === 'accepted') return !attempt.accepted
  if (outcome === 'refused') return !counted && reason !== 'replacementUnderpriced'
  return outcome === 'unknown' && (reply === undefined || (!reply.ok && !SPOKEN.has(reply.failure.kind)))
}

const SPOKEN: ReadonlySet<string> = new Set(['rpc', 'custom'])

function outcomeOf(reply: RpcReply | undefined, hash: Hash): SendOutcome {
  if (reply === undefined) return { outcome: 'unknown', reason: 'unknown', counted: false }
  return classifyReply(reply, hash)
}

function wordsOf(reply: RpcReply | undefined): string | undefined {
  return reply === undefined || reply.ok ? undefined : reply.failure.message
}

function countOf(reply: RpcReply | undefined): number | undefined {
  if (!reply?.ok) return undefined
  try {
    return decodeNumber(reply.result, 'eth_getTransactionCount')
  } catch {
    return undefined
  }
}
