import { createMinHeap } from '../../ledger/heap.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import { classifyReply } from '../../rpc/classify.js'
import { decodeNumber } from '../../rpc/codec.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { soon } from '../../soon.js'
import type { LaneContext } from '../context.js'
import type { HubEndpoint } from '../nodes/hub.js'
import { mayHave } from '../nodes/privacy.js'
import { createInOrder } from './inOrder.js'

/** What an endpoint said of bytes that it was handed. */
export type Said = {
  readonly endpoint: HubEndpoint
  readonly nonce: number
  /** As it was before it was handed over. */
  readonly attempt: Attempt
  readonly outcome: SendOutcome
  readonly reply: RpcReply | undefined
  /** As `posting` had it. */
  readonly awaited: boolean
}

/**
 * Hands journaled bytes to one endpoint: nonce-ordered JSON-RPC batches, no linger when idle. Nothing is sent twice by
 * itself.
 */
export type Courier = {
  readonly endpoint: HubEndpoint
  /** The newest attempt of this nonce is to be sent here; `alone`: and nowhere else for now. */
  add(nonce: number, alone: boolean): void
  /** Something that held bytes back may be over. */
  kick(): void
  /** Forgets what it was to send and has not begun to; gives back what nobody else was asked to send. */
  handBack(): readonly number[]
  readonly busy: boolean
}

export type CourierParts = {
  readonly sent: (nonce: number) => void
  /**
   * These bytes are about to be written; `said` follows for each. `awaited`: the endpoint is one that answers, so that
   * what others say of the same bytes can wait for its word.
   */
  readonly posting: (batch: readonly { readonly attempt: Attempt }[], awaited: boolean) => void
  readonly said: (said: Said) => void
  /** The endpoint left us without an answer, or asked to be left alone. */
  readonly failed: (endpoint: HubEndpoint) => void
  readonly idle: () => void
}

type Sending = {
  readonly nonce: number
  readonly attempt: Attempt
  /** Nobody has sent it, and nothing else was sent at its nonce. What an earlier process left may be in the pool. */
  readonly fresh: boolean
}

// Well below the body limits that hosted providers set; a batch is cut where it would pass it.
const BATCH_BYTES_MAX = 512 * 1024
/** Whether the endpoint counts its pool, and so many counts did not show, is not worth more of them. */
const COUNTS_TO_LEARN = 16
/** What waits is sent in such parts until it is known whether the endpoint counts its pool: few are answered soon. */
const LEARNING_PARTS = 32
/** Where a count makes room: while the answer to one part of the window is handled, the node has another at hand. */
const COVERING_PARTS = 3
/** With so many at hand the window may stay full for a while. */
const BATCHES_AHEAD = 4
/** For so long nobody waits for the word of an endpoint that did not answer a send. */
const SILENT_MS = 5_000

export function createCourier(
  context: LaneContext,
  endpoint: HubEndpoint,
  { sent, posting, said, failed, idle }: CourierParts,
): Courier {
  const { lane, hub, limits, clock } = context
  const heap = createMinHeap()
  // What waits here, and whether it does so nowhere else.
  const queued = new NonceMap<boolean>()
  let open = 0
  let scheduled = false
  let acceptedTo = 0
  // Batches in which a count rode along, and whether each so far had counted what was sent with it.
  let counts = 0
  let counted = true
  const inOrder = createInOrder(lane.book, endpoint.profile)
  const flying = new Set<number>()

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    soon(() => {
      scheduled = false
      while (open < requestsMax() && postNext()) {}
      if (open === 0) idle()
    })
  }

  /** What a node takes little of goes in order, one request at a time: what overtakes is gapped, and dropped too. */
  const isScarce = () => lane.window.aheadMax !== Number.POSITIVE_INFINITY
  const requestsMax = () => (isScarce() || inOrder.isOn ? 1 : limits.requestsMax)

  function postNext(): boolean {
    // The endpoint may be shared, and stays open then.
    if (context.closed || queued.size === 0) return false
    if (endpoint.restUntilMs > clock.now()) {
      // Another lane was told so.
      failed(endpoint)
      return false
    }
    const learning = isLearning()
    if (learning && open > 0) return false
    const batch = take(sizeNow(learning))
    if (batch.length === 0) return false
    open++
    void post(batch).finally(() => {
      open--
      schedule()
    })
    return true
  }

  function sizeNow(learning: boolean): number {
    const sizeMax = batchSize()
    if (inOrder.isOn) return Math.min(sizeMax, inOrder.sizeMax)
    if (learning) return Math.min(sizeMax, Math.ceil(queued.size / LEARNING_PARTS))
    return isCountWanted() && !isScarce()
      ? Math.min(sizeMax, Math.ceil(lane.window.size / COVERING_PARTS))
      : sizeMax
  }

  /** Transactions in one request: the largest batch, less the count that rides along. */
  function batchSize(): number {
    const sizeMax = requestSizeMax()
    return isCountWanted() && sizeMax > 1 ? sizeMax - 1 : sizeMax
  }

  function requestSizeMax(): number {
    const { usable, sizeMax = limits.batchMax } = endpoint.profile.current().batch
    return usable === false ? 1 : Math.min(limits.batchMax, sizeMax)
  }

  /**
   * The lowest nonces whose bytes are committed, with nothing below that awaits its first commit (P6), and no further
   * above the account's than the node takes.
   */
  function take(max: number): Sending[] {
    const uncommitted = lane.book.lowestUncommitted() ?? Number.POSITIVE_INFINITY
    const most = Math.min(uncommitted, lane.book.floor + lane.window.aheadMax)
    let gate = inOrder.isOn ? Math.min(most, inOrder.next() + 1) : most
    const batch: Sending[] = []
    let bytes = 0
    for (
      let nonce = heap.peek();
      nonce !== undefined && nonce < gate && batch.length < max;
      nonce = heap.peek()
    ) {
      const sending = queued.has(nonce) ? sendingAt(nonce) : undefined
      if (sending && bytes + sending.attempt.raw.length > BATCH_BYTES_MAX && batch.length > 0) break
      heap.pop()
      queued.delete(nonce)
      if (sending === undefined) continue
      bytes += sending.attempt.raw.length
      batch.push(sending)
      // What the batch itself brings is there for what stands above it.
      if (nonce + 1 === gate) gate = Math.min(most, nonce + 2)
    }
    return batch
  }

  /** What was to be sent here may have been followed by something that this endpoint must not see. */
  function sendingAt(nonce: number): Sending | undefined {
    const slot = lane.book.get(nonce)
    const attempt = slot?.state === 'live' ? newestAttempt(slot) : undefined
    if (attempt === undefined || !mayHave(endpoint, attempt)) return undefined
    const isOwn = attempt.epoch === lane.lease.epoch
    return { nonce, attempt, fresh: isOwn && slot?.attempts.length === 1 && attempt.sends === 0 }
  }

  async function post(batch: readonly Sending[]): Promise<void> {
    const covering = isCountWanted() && batch.length < requestSizeMax()
    const calls: RpcCall[] = batch.map(sendOf)
    // Covering costs no round trip: the count rides along, last.
    if (covering) {
      counts++
      calls.push({ method: 'eth_getTransactionCount', params: [lane.key.address, 'pending'] })
    }
    const before = covering ? advanceAccepted() : 0
    const awaited = endpoint.silentUntilMs <= clock.now()
    posting(batch, awaited)
    let isRepeated = false
    const onRepeat = (positions: readonly number[]) => {
      isRepeated = true
      for (const position of positions) sentAgain(batch[position])
    }
    // Bytes whose answer was lost are an unknown outcome, and said to be sent again.
    const options = { timeoutMs: limits.sendTimeoutMs, onRepeat, tellsSilence: true }
    const replying = endpoint.port.batch(calls, options)
    // In the same turn, while they are on their way.
    for (const { nonce, attempt } of batch) {
      flying.add(nonce)
      lane.apply(nonce, { type: 'sent', hash: attempt.hash })
      if (attempt.sends === 0) sent(nonce)
    }
    const replies = await replying
    const outcomes: SendOutcome[] = []
    for (const [index, { attempt }] of batch.entries()) outcomes.push(outcomeOf(replies[index], attempt))
    for (const { nonce } of batch) flying.delete(nonce)
    for (const nonce of inOrder.said(batch, outcomes)) if (!flying.has(nonce)) add(nonce, true)
    noteWhole(outcomes[0], replies[0])
    if (covering) noteCount({ batch, outcomes, reply: replies[batch.length], before, isRepeated })
    for (const [index, { nonce, attempt }] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome) said({ endpoint, nonce, attempt, outcome, reply: replies[index], awaited })
    }
  }

  /** The endpoint refused the batch, and is handed the same bytes in a smaller one: that counts as a send. */
  function sentAgain(sending: Sending | undefined): void {
    if (sending === undefined) return
    const { nonce, attempt } = sending
    const slot = lane.book.get(nonce)
    if (slot?.state !== 'live' || !slot.attempts.some(({ hash }) => hash === attempt.hash)) return
    lane.apply(nonce, { type: 'sent', hash: attempt.hash })
  }

  /** Whether it shows its pool is not known, and counts may still tell. */
  function mayLearn(): boolean {
    const isUnknown = endpoint.profile.current().pending === 'unknown'
    return isUnknown && endpoint === hub.reader && counts < COUNTS_TO_LEARN
  }

  /** Where it shows its pool a count covers, and makes room before all is sent. */
  function isCountWanted(): boolean {
    if (inOrder.isOn) return false
    if (mayLearn()) return true
    const { pending } = endpoint.profile.current()
    const mayCover = endpoint === hub.reader && (pending === 'unknown' || pending === 'mempool')
    return mayCover && lane.crowded && queued.size < BATCHES_AHEAD * limits.batchMax
  }

  /**
   * More waits than the window takes, and nothing but a block would make room: so a few of what the window does take go
   * first, and a few more, since it takes two answers to know that the node counts its pool.
   */
  function isLearning(): boolean {
    return !inOrder.isOn && mayLearn() && counted && lane.room <= 0
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

  /** What the answer as a whole says: asked too often, nobody there. */
  function noteWhole(outcome: SendOutcome | undefined, first: RpcReply | undefined): void {
    const isAnswer = outcome?.outcome !== 'unknown' || isExplicitRefusal(first, outcome)
    if (isAnswer) endpoint.silentUntilMs = 0
    if (outcome?.reason !== 'rateLimited') hub.rests.over(endpoint)
    if (outcome === undefined || first === undefined || first.ok) return
    const { failure } = first
    if (outcome.reason === 'rateLimited') {
      hub.rests.begin(endpoint, { ms: outcome.retryAfterMs, words: failure.message })
    }
    if (!isAnswer) endpoint.silentUntilMs = clock.now() + SILENT_MS
    if (!isAnswer || outcome.reason === 'rateLimited') failed(endpoint)
  }

  function noteCount(answer: {
    readonly batch: readonly Sending[]
    readonly outcomes: readonly SendOutcome[]
    readonly reply: RpcReply | undefined
    readonly before: number
    readonly isRepeated: boolean
  }): void {
    const { batch, outcomes, reply, before: acceptedBefore, isRepeated } = answer
    const count = countOf(reply)
    counted = count !== undefined && count > acceptedBefore
    if (count === undefined) return
    // What was handed over in several requests tells nothing of what a count shows at once.
    const sentUpTo = isRepeated ? undefined : freshRun(batch, outcomes, acceptedBefore)
    if (sentUpTo !== undefined) {
      endpoint.profile.observe({ kind: 'countAfterSend', sentFrom: acceptedBefore, sentUpTo, count })
    }
    // Another may be read by now.
    const counts = endpoint === hub.reader && endpoint.profile.current().pending === 'mempool'
    if (counts) lane.counted(count)
  }

  function add(nonce: number, alone: boolean): void {
    if (!queued.has(nonce)) heap.push(nonce)
    queued.set(nonce, alone && (queued.get(nonce) ?? true))
    schedule()
  }

  return {
    endpoint,
    add,
    kick: schedule,
    handBack() {
      const alone = [...queued].filter(([, only]) => only).map(([nonce]) => nonce)
      queued.clear()
      return alone
    },
    get busy() {
      return open > 0 || scheduled
    },
  }
}

/**
 * Fresh nonces without a gap below, all taken in this batch: only those tell what the count counts. What was known
 * already may have come by way of another endpoint, and anvil 1.7.1 keeps some that it knows out of its count.
 */
function freshRun(
  batch: readonly Sending[],
  outcomes: readonly SendOutcome[],
  acceptedBefore: number,
): number | undefined {
  let next = acceptedBefore
  for (const [index, { nonce, fresh }] of batch.entries()) {
    const said = outcomes[index]
    if (nonce !== next || !fresh || said?.outcome !== 'accepted' || said.reason === 'alreadyKnown') break
    next++
  }
  return next > acceptedBefore ? next - 1 : undefined
}

function sendOf({ attempt }: Sending): RpcCall {
  return { method: 'eth_sendRawTransaction', params: [attempt.raw] }
}

function outcomeOf(reply: RpcReply | undefined, { hash }: Attempt): SendOutcome {
  if (reply === undefined) return { outcome: 'unknown', reason: 'unknown', counted: false }
  return classifyReply(reply, hash)
}

function countOf(reply: RpcReply | undefined): number | undefined {
  if (!reply?.ok) return undefined
  try {
    return decodeNumber(reply.result, 'eth_getTransactionCount')
  } catch {
    return undefined
  }
}
