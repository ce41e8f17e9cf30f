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
 * Chooses who gets journaled bytes: one endpoint, or every one where the lane is told so or where they have to be sent
 * again. When they leave is the endpoint's delivery to say; what becomes of an attempt, the table's.
 */
export type Broadcaster = {
  /** The newest attempt of this nonce is to be sent. */
  add(nonce: number): void
  /** To every endpoint that may have it. Where it was sent before, what is lost is sent again anyway. */
  again(nonce: number): void
  /** It goes to the endpoints that do not have it, too: one left it without an answer, or does not take it now. */
  elsewhere(nonce: number): void
  /**
   * What an earlier life left is sent again, where no count covers it: inherited attempts count as possibly sent, and go
   * before anything new.
   */
  resume(): void
  /** The chain or the pool counts so many nonces: what an earlier life left above them is sent again after all. */
  claimed(count: number): void
  /** It is not to be sent any more: nothing is bound there. */
  withdraw(nonce: number): void
  /** An endpoint is to have this nonce: what is lost of it is sent again. */
  delivers(nonce: number): boolean
  /** The same, and nothing of its newest bytes was sent yet. */
  holdsBack(nonce: number): boolean
  /** A pool that takes its bytes does not count them: only other bytes get in. */
  isStranded(nonce: number): boolean
  /** A `pending` count of the endpoint that is read. */
  counted(reading: CountReading): void
  /**
   * A new pending block, or a sealed one, after its bodies were told. False where it was asked for too soon after a send to
   * say anything of that.
   */
  refreshed(refresh: Pick<Refresh, 'sealed' | 'askedAtMs'>): boolean
  /** The most transactions that no sealed block has used; undefined: as many as an endpoint takes. */
  limitAccount(max: number | undefined): void
  /** Something that held bytes back (a lower reservation, an endpoint that was away) may be over. */
  kick(): void
  /** How many more nonces may be handed out. */
  readonly room: number
  /** The same, and a hole always has room: what is above waits for it. */
  readonly hasRoom: boolean
  /** Nonces that may be at the endpoint that gets new ones, neither sealed nor acknowledged. */
  readonly window: number
  /** Resolves when no request is open. */
  idle(): Promise<void>
  stop(): void
}

/** Beside an outcome. */
export type Reported = {
  /** The endpoint's name and what it said, where it said anything but the hash. */
  readonly words: string | undefined
  /** Of bytes that it does not take: when they are to be offered again, in milliseconds from now. */
  readonly againMs?: number | undefined
}

/** Bytes that are under way to several endpoints at once. */
type Round = { open: number; accepted: boolean; held: Map<PoolEndpoint, Said> }

const NOBODY: readonly PoolEndpoint[] = []
const PUBLIC = {}

export function createBroadcaster(
  context: BroadcastContext,
  told: {
    sent: (nonce: number) => void
    /** Bytes are handed over again. */
    again: (nonce: number) => void
    outcome: (nonce: number, hash: Hash, outcome: SendOutcome, said: Reported) => void
    /** More may be handed out. */
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
  // What an earlier life left below it is not sent again: a count covered it, and was never lower since.
  let sparedTo = Number.POSITIVE_INFINITY
  // No endpoint can take them for now.
  const waiting = new Set<number>()
  // Which endpoint gets new nonces: moved on when it left us without an answer.
  let turn = 0
  let accountMax: number | undefined
  const idlers: (() => void)[] = []

  // --- who gets what -----------------------------------------------------------------------------------------------

  function add(nonce: number): void {
    const slot = book.get(nonce)
    const attempt = attemptAt(nonce)
    if (slot === undefined || attempt === undefined) return
    // One that had a chance and is not in a block may have been swallowed, or be known to some of them only.
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

  /** It left us without an answer: what it does not have goes to the others, or stays where only it may have it. */
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

  /** In the order in which they are handed the bytes. One that asks to be left alone is passed over where another is not. */
  function takers(bytes: Pick<Attempt, 'private'>, all: boolean): readonly PoolEndpoint[] {
    if (!several) return onlyTaker(bytes)
    const order = endpointPool.senders()
    const able = order.filter((endpoint) => canReceive(endpoint, bytes))
    if (able.length < 2) return able.length === 0 ? NOBODY : able
    const free = able.filter(({ gate }) => !gate.isBlocked)
    const usable = free.length > 0 ? free : able
    // The one that is read first: whether its count shows its pool is seen by what nobody else had before.
    if (all)
      return usable.sort((a, b) => Number(b === endpointPool.reader) - Number(a === endpointPool.reader))
    return [usable.find((one) => order.indexOf(one) >= turn % order.length) ?? (usable[0] as PoolEndpoint)]
  }

  /** A burst asks for it several times a transaction: no list is made. */
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

  /** The one that new nonces go to. */
  function primary(): EndpointSender | undefined {
    const [endpoint] = takers(PUBLIC, false)
    return endpoint && senderOf(endpoint)
  }

  /** What is reserved and not offered yet is on its way there. */
  function room(): number {
    const sender = primary()
    if (sender === undefined) return limits.window - (book.cursor - book.coveredTo)
    const { status } = sender
    const { cursor, coveredTo, confirmedTo } = book
    const free = status.room - (cursor - Math.max(status.end, coveredTo))
    // The endpoint keeps no more above nonces that somebody is supposed to have sent, should they be missing: bytes there
    // would turn all of them into holes. A count does not show them: it may be the one that they are supposed from.
    return book.supposedTo > confirmedTo ? Math.min(free, confirmedTo + status.gapBudget - cursor) : free
  }

  // --- what comes back ---------------------------------------------------------------------------------------------

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
   * The first that takes the bytes has the word: what others say of them is no reason to bump, to back off or to give
   * up. Until one has, and as long as one may, nothing is concluded from a refusal.
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
    // One refusal is one, however many nodes repeat it.
    const kinds = new Map<string, Said>()
    for (const each of all) {
      const { outcome, ...rest } = weighed(each, fromAll)
      kinds.set(`${outcome.outcome} ${outcome.reason} ${outcome.counted}`, { ...rest, outcome })
    }
    for (const each of kinds.values()) tell(each)
  }

  /**
   * geth refuses a delegation of an account of which it holds more than one transaction ("authority already reserved",
   * core/txpool/legacypool validateAuth, 1.17). At the lane's head no block may ever mend that: transactions of the lane's
   * own account stand above the very nonce that is refused, whoever sent them, and those of another account may be stuck.
   */
  function isBarred({ nonce, attempt, outcome }: Said): boolean {
    if (outcome.reason !== 'delegatedLimit' || nonce !== book.floor || attempt.claim === undefined)
      return false
    const request = context.transactions.get(attempt.claim)?.request
    return request !== undefined && tuplesOf(request).length > 0
  }

  /** Every endpoint that would be asked now, and answers, refused the bytes for good. */
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

function wordsOf({ port }: PoolEndpoint, reply: RpcReply | undefined): string | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  return `${port.name} said: ${(failure.kind === 'http' ? failure.rpc?.message : undefined) ?? failure.message}`
}

/** A refusal that no retry at this node mends: by the table of messages, or in words that it does not have. */
function isForGood({ outcome, reply, ofBatch }: Said): boolean {
  return !ofBatch && (outcome.counted || isExplicitRefusal(reply, outcome))
}

/**
 * What is refused for good counts where every endpoint refuses it so: another one may take what one of them does not
 * (row 18), and words that are not known say nothing by themselves (row 13).
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
