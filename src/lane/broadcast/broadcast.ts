import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { canReceive } from '../../chain/endpoints/privateEndpoints.js'
import type { CountReading } from '../../delivery/count.js'
import type { Refresh } from '../../delivery/retransmit.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Limits } from '../../types/index.js'
import { tuplesOf } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import {
  createEndpointSender,
  type EndpointSender,
  type EndpointSenderParts,
  type Said,
} from './endpointSender.js'
import { createRefusals } from './refusals.js'

type BroadcastContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly broadcast: 'first' | 'all'
  readonly transactions: Map<string, Transaction>
  readonly closed: boolean
}

/**
 * Chooses the endpoints for journaled bytes: one endpoint, or every endpoint if the lane is configured so or
 * if the bytes have to be sent again. The delivery of each endpoint decides the time of a send. The table
 * decides about the attempt.
 */
export type Broadcaster = {
  /** Sends the newest attempt of this nonce. */
  add(nonce: number): void
  /**
   * Sends the bytes to every endpoint that can receive them. An endpoint that already has them sends lost
   * bytes again by itself.
   */
  again(nonce: number): void
  /**
   * Offers the bytes also to the endpoints that do not have them, because one endpoint did not answer or does
   * not accept them now.
   */
  elsewhere(nonce: number): void
  /**
   * Re-sends the attempts of an earlier process that no count covers. Inherited attempts count as possibly
   * sent, and they go before anything new.
   */
  resume(): void
  /**
   * The chain or the pool counts this many nonces. Attempts of an earlier process at or above the count are
   * re-sent after all.
   */
  claimed(count: number): void
  /** Stops sending this nonce, because nothing is bound to it. */
  withdraw(nonce: number): void
  /** An endpoint is responsible for this nonce, and re-sends the bytes if they are lost. */
  delivers(nonce: number): boolean
  /** An endpoint is responsible for this nonce, and its newest bytes have not been sent yet. */
  holdsBack(nonce: number): boolean
  /** A pool accepts the bytes but does not count them, so that only different bytes can replace them. */
  isStranded(nonce: number): boolean
  /** Passes on a `pending` count of the endpoint that the lane reads from. */
  counted(reading: CountReading): void
  /**
   * A new pending block, or a sealed one. The caller has already processed its transactions. Returns false if
   * the block was requested too soon after a send to say anything about that send.
   */
  refreshed(refresh: Pick<Refresh, 'sealed' | 'askedAtMs'>): boolean
  /**
   * Limits the number of transactions that no sealed block has used yet. Undefined means that only the
   * endpoint limits them.
   */
  limitAccount(max: number | undefined): void
  /**
   * Checks again, because a reason to hold bytes back (a lower reservation, an endpoint that was unavailable)
   * may have ended.
   */
  kick(): void
  /** Number of further nonces that may be reserved. */
  readonly room: number
  /** Like `room > 0`, but a hole always has room, because all higher nonces wait for it. */
  readonly hasRoom: boolean
  /**
   * Number of nonces that may be at the endpoint that receives new ones, neither sealed nor acknowledged.
   */
  readonly window: number
  /** Resolves when no request is open. */
  idle(): Promise<void>
  stop(): void
}

/** Details that accompany an outcome. */
export type Reported = {
  /** The endpoint's name and its message, if it answered with anything but the hash. */
  readonly words: string | undefined
  /** If the endpoint does not accept the bytes: the delay until they are offered again, in milliseconds. */
  readonly againMs?: number | undefined
}

/** Replies to bytes that are on their way to several endpoints at once. */
type Round = { open: number; accepted: boolean; held: Map<PoolEndpoint, Said> }

const NOBODY: readonly PoolEndpoint[] = []
const PUBLIC = {}

export function createBroadcaster(
  context: BroadcastContext,
  told: {
    sent: (nonce: number) => void
    /** The same bytes were sent again. */
    again: (nonce: number) => void
    outcome: (nonce: number, hash: Hash, outcome: SendOutcome, said: Reported) => void
    /** More nonces may be reserved. */
    freed: () => void
  },
): Broadcaster {
  const { lane, endpointPool, clock, limits } = context
  const { book } = lane
  const takingSends = endpointPool.endpoints.filter(({ role }) => role !== 'read')
  const several = takingSends.length > 1
  const senders = new Map<PoolEndpoint, EndpointSender>()
  const refusals = createRefusals(context)
  const rounds = new Map<Hash, Round>()
  // Attempts of an earlier process below this nonce are not re-sent: a count covered them, and no later count
  // was lower.
  let sparedTo = Number.POSITIVE_INFINITY
  // Nonces that no endpoint can receive at the moment.
  const waiting = new Set<number>()
  // Selects the endpoint that receives new nonces. It advances when that endpoint does not answer.
  let turn = 0
  let accountMax: number | undefined
  const idlers: (() => void)[] = []

  // --- selection of endpoints
  // --------------------------------------------------------------------------------------

  function add(nonce: number): void {
    const slot = book.get(nonce)
    const attempt = attemptAt(nonce)
    if (slot === undefined || attempt === undefined) return
    // An attempt that was sent before and is in no block may have been lost, or only some endpoints may know
    // it.
    const isKnown = attempt.sends > 0 || slot.attempts.length > 1
    offer(nonce, takers(attempt, isKnown || context.broadcast === 'all'))
  }

  function resumeFrom(from: number): void {
    const open = [...book.slots.values()].filter(
      ({ state, nonce }) => state === 'live' && nonce >= from && nonce < sparedTo && !isOffered(nonce),
    )
    sparedTo = from
    for (const { nonce } of open.sort((a, b) => a.nonce - b.nonce)) add(nonce)
  }

  const isOffered = (nonce: number) =>
    waiting.has(nonce) || [...senders.values()].some((sender) => sender.has(nonce))

  function offer(nonce: number, endpoints: readonly PoolEndpoint[]): void {
    if (endpoints.length === 0) waiting.add(nonce)
    for (const endpoint of endpoints) senderOf(endpoint).offer(nonce)
  }

  /**
   * The endpoint did not answer. A nonce that it does not have goes to the other endpoints, or stays if only
   * this endpoint may receive it.
   */
  function moveFrom(endpoint: PoolEndpoint, nonce: number): void {
    const slot = book.get(nonce)
    const attempt = attemptAt(nonce)
    if (slot === undefined || attempt === undefined) return
    const isKnown = attempt.sends > 0 || slot.attempts.length > 1
    const others = takers(attempt, isKnown).filter((one) => one !== endpoint)
    if (others.length === 0) return offer(nonce, [endpoint])
    for (const sender of others.map(senderOf)) if (!sender.has(nonce)) sender.offer(nonce)
  }

  function elsewhere(nonce: number): void {
    const attempt = several ? attemptAt(nonce) : undefined
    if (attempt === undefined) return
    for (const endpoint of takers(attempt, true)) {
      const sender = senderOf(endpoint)
      if (!sender.has(nonce)) sender.offer(nonce)
    }
  }

  function attemptAt(nonce: number): Attempt | undefined {
    const slot = book.get(nonce)
    return slot?.state === 'live' ? newestAttempt(slot) : undefined
  }

  /**
   * The endpoints in the order in which they receive the bytes. A rate-limited endpoint is skipped if another
   * one is available.
   */
  function takers(bytes: Pick<Attempt, 'private'>, all: boolean): readonly PoolEndpoint[] {
    if (!several) return onlyTaker(bytes)
    const order = endpointPool.senders()
    const able = order.filter((endpoint) => canReceive(endpoint, bytes))
    if (able.length < 2) return able.length === 0 ? NOBODY : able
    const free = able.filter(({ gate }) => !gate.isBlocked)
    const usable = free.length > 0 ? free : able
    // The endpoint that the lane reads from goes first. Its profile learns whether its count includes its
    // pool only from transactions that no other endpoint had before.
    if (all)
      return usable.sort((a, b) => Number(b === endpointPool.reader) - Number(a === endpointPool.reader))
    return [usable.find((one) => order.indexOf(one) >= turn % order.length) ?? (usable[0] as PoolEndpoint)]
  }

  /** Does not allocate a list, because a burst calls this several times for each transaction. */
  function onlyTaker(bytes: Pick<Attempt, 'private'>): readonly PoolEndpoint[] {
    const [endpoint] = takingSends
    return endpoint?.probed && canReceive(endpoint, bytes) ? takingSends : NOBODY
  }

  function senderOf(endpoint: PoolEndpoint): EndpointSender {
    let sender = senders.get(endpoint)
    if (sender === undefined) {
      sender = createEndpointSender(context, endpoint, parts)
      sender.limitAccount(accountMax)
      senders.set(endpoint, sender)
    }
    return sender
  }

  /** The endpoint that receives new nonces. */
  function primary(): EndpointSender | undefined {
    const [endpoint] = takers(PUBLIC, false)
    return endpoint && senderOf(endpoint)
  }

  /** Nonces that are reserved but not offered yet count as on their way to the endpoint. */
  function room(): number {
    const sender = primary()
    if (sender === undefined) return limits.window - (book.cursor - book.coveredTo)
    const { status } = sender
    const { cursor, coveredTo, confirmedTo } = book
    const free = status.room - (cursor - Math.max(status.end, coveredTo))
    // Some covered nonces are only assumed to be in use by another sender. If they turn out to be missing,
    // all bytes above them are gapped, and the endpoint pools only `gapBudget` of those. A count proves
    // nothing here, because the assumption may come from that same count.
    return book.supposedTo > confirmedTo ? Math.min(free, confirmedTo + status.gapBudget - cursor) : free
  }

  // --- replies
  // -----------------------------------------------------------------------------------------------------

  const parts: EndpointSenderParts = {
    sent: told.sent,
    again: told.again,
    freed: told.freed,
    posting(batch, awaited) {
      if (!several || !awaited) return
      for (const { attempt } of batch) {
        const { hash } = attempt
        const round = rounds.get(hash)
        if (round) round.open++
        else rounds.set(hash, { open: 1, accepted: false, held: new Map() })
      }
    },
    said(heard) {
      const said = isBarred(heard) ? forGood(heard) : heard
      const { hash } = said.attempt
      const round = rounds.get(hash)
      if (round === undefined) return tell(weighed(said, !several || isFromAll(said, [said])))
      if (said.awaited && --round.open === 0) rounds.delete(hash)
      inRound(round, said)
    },
    repaired(nonces) {
      if (several) for (const nonce of nonces) elsewhere(nonce)
    },
    failed(endpoint) {
      const order = endpointPool.senders()
      if (order[turn % order.length] === endpoint) turn++
      const others = order.filter((one) => one !== endpoint && !one.gate.isBlocked)
      if (others.length === 0 || context.broadcast === 'all') return
      for (const nonce of senders.get(endpoint)?.reclaim() ?? []) moveFrom(endpoint, nonce)
    },
    idle() {
      if (isIdle()) for (const done of idlers.splice(0)) done()
    },
  }

  /**
   * The first acceptance wins: other endpoints' answers about the same bytes are no reason to bump, to back
   * off or to give up. Until an endpoint accepts, and while one still may, no conclusion is drawn from a
   * refusal.
   */
  function inRound(round: Round, said: Said): void {
    if (round.accepted) return
    if (said.outcome.outcome === 'accepted') {
      round.accepted = true
      return tell(said)
    }
    round.held.set(said.endpoint, said)
    if (round.open > 0) return
    const all = [...round.held.values()]
    const fromAll = isFromAll(said, all)
    // The same refusal counts once, however many nodes repeat it.
    const kinds = new Map<string, Said>()
    for (const each of all) {
      const { outcome, ...rest } = weighed(each, fromAll)
      kinds.set(`${outcome.outcome} ${outcome.reason} ${outcome.counted}`, { ...rest, outcome })
    }
    for (const each of kinds.values()) tell(each)
  }

  /**
   * geth refuses a delegation of an account of which it holds more than one transaction ("authority already
   * reserved", core/txpool/legacypool validateAuth, 1.17). At the lane's head no block may ever resolve that:
   * transactions of the lane's own account are in the pool above the refused nonce, from this lane or from
   * another wallet, and those of another account may be stuck.
   */
  function isBarred({ nonce, attempt, outcome }: Said): boolean {
    if (outcome.reason !== 'delegatedLimit' || nonce !== book.floor || attempt.claim === undefined)
      return false
    const request = context.transactions.get(attempt.claim)?.request
    return request !== undefined && tuplesOf(request).length > 0
  }

  /** Every endpoint that is available for these bytes now, and that answers, refused them permanently. */
  function isFromAll({ attempt }: Said, heard: readonly Said[]): boolean {
    const refusing = new Set(heard.filter(isForGood).map(({ endpoint }) => endpoint))
    const now = clock.now()
    const asked = takers(attempt, true).filter(({ silentUntilMs }) => silentUntilMs <= now)
    return heard.every(isForGood) && asked.every((endpoint) => refusing.has(endpoint))
  }

  function tell({ endpoint, nonce, attempt, outcome, answer, reply }: Said): void {
    if (beginsAnew(attempt, outcome, reply)) told.sent(nonce)
    const paced = refusals.paced({ nonce, attempt, outcome, answer })
    told.outcome(nonce, attempt.hash, paced.outcome, {
      words: wordsOf(endpoint, reply),
      againMs: paced.againMs,
    })
  }

  const delivers = (nonce: number) =>
    waiting.has(nonce) ||
    [...senders.values()].some((sender) => sender.has(nonce) && !sender.isRefused(nonce))

  const isIdle = () => ![...senders.values()].some(({ isBusy }) => isBusy)

  return {
    add,
    again(nonce) {
      const attempt = attemptAt(nonce)
      if (attempt === undefined) return
      const endpoints = takers(attempt, true)
      if (endpoints.length > 1) for (const endpoint of endpoints) senderOf(endpoint).sentElsewhere(nonce)
      offer(nonce, endpoints)
    },
    elsewhere,
    resume: () => resumeFrom(book.coveredTo),
    claimed(count) {
      if (count < sparedTo) resumeFrom(count)
    },
    delivers,
    isStranded: (nonce) => [...senders.values()].some((sender) => sender.isStranded(nonce)),
    holdsBack: (nonce) => attemptAt(nonce)?.sends === 0 && delivers(nonce),
    withdraw(nonce) {
      waiting.delete(nonce)
      for (const sender of senders.values()) sender.withdraw(nonce)
    },
    counted: (reading) => senders.get(endpointPool.reader)?.counted(reading),
    refreshed(refresh) {
      const told = [...senders.values()].map((sender) => sender.refreshed(refresh))
      return !told.includes(false)
    },
    limitAccount(max) {
      if (max === accountMax) return
      accountMax = max
      for (const sender of senders.values()) sender.limitAccount(max)
      told.freed()
    },
    kick() {
      for (const sender of senders.values()) sender.kick()
      const all = [...waiting]
      waiting.clear()
      for (const nonce of all) add(nonce)
    },
    get room() {
      return room()
    },
    get hasRoom() {
      return book.lowestHole() !== undefined || room() > 0
    },
    get window() {
      return primary()?.status.most ?? limits.window
    },
    idle() {
      if (isIdle()) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
    },
    stop() {
      for (const sender of senders.values()) sender.stop()
    },
  }
}

/**
 * Whether the wait for inclusion starts over: the bytes reached no endpoint, were not accepted yet, or have
 * just been accepted. A refusal that waiting does not cure, and an unknown error message, let the time run
 * on. Otherwise bytes that are refused in every block would never be bumped, given up or reported as stuck.
 */
function beginsAnew(attempt: Attempt, said: SendOutcome, reply: RpcReply | undefined): boolean {
  const { outcome, reason, counted } = said
  if (outcome === 'accepted') return !attempt.accepted
  if (outcome === 'refused') return !counted && reason !== 'replacementUnderpriced'
  return outcome === 'unknown' && (reply === undefined || (!reply.ok && !SPOKEN.has(reply.failure.kind)))
}

const SPOKEN: ReadonlySet<string> = new Set(['rpc', 'custom'])

function wordsOf({ port }: PoolEndpoint, reply: RpcReply | undefined): string | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  return `${port.name} said: ${(failure.kind === 'http' ? failure.rpc?.message : undefined) ?? failure.message}`
}

/**
 * A refusal that no retry at this node resolves: the table of messages lists it, or the message is unknown.
 */
function isForGood({ outcome, reply, ofBatch }: Said): boolean {
  return !ofBatch && (outcome.counted || isExplicitRefusal(reply, outcome))
}

/**
 * A permanent refusal counts only if every endpoint refuses the bytes permanently: another endpoint may
 * accept bytes that one endpoint does not (row 18), and an unknown message alone proves nothing (row 13).
 */
function weighed(said: Said, fromAll: boolean): Said {
  if (!isForGood(said)) return said
  const { outcome } = said
  if (fromAll) return forGood(said)
  return outcome.counted ? { ...said, outcome: { ...outcome, counted: false } } : said
}

function forGood(said: Said): Said {
  return { ...said, outcome: { ...said.outcome, outcome: 'refused', counted: true } }
}
