import type { Hash } from 'viem'
import type { CancelTimer } from '../../clock.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcReply } from '../../rpc/port.js'
import type { LaneContext } from '../context.js'
import type { HubEndpoint } from '../nodes/hub.js'
import { mayHave } from '../nodes/privacy.js'
import { type Courier, type CourierParts, createCourier, type Said } from './courier.js'
import { createRefusals } from './refusals.js'

/**
 * Chooses who gets journaled bytes: one endpoint, or every one where the lane is told so or where they have to be sent
 * again. Nothing is sent twice by itself; what becomes of an attempt is the table's to say.
 */
export type Broadcaster = {
  /** The newest attempt of this nonce is to be sent. `again`: told when an endpoint is handed it, and not before. */
  add(nonce: number, again?: 'again'): void
  /** Something that held bytes back (a lower reservation, a rest) may be over. */
  kick(): void
  /** Resolves when no request is open. */
  idle(): Promise<void>
}

/** Beside an outcome. */
export type Reported = {
  /** The endpoint's name and what it said, where it said anything but the hash. */
  readonly words: string | undefined
  /** Of a refusal that no retry mends: when the same bytes are to be offered again, in milliseconds from now. */
  readonly againMs?: number | undefined
}

/** Bytes that are under way to several endpoints at once. */
type Round = { open: number; accepted: boolean; held: Map<HubEndpoint, Said> }

const NOBODY: readonly HubEndpoint[] = []

export function createBroadcaster(
  context: LaneContext,
  told: {
    sent: (nonce: number) => void
    /** What was to be sent again is handed over. */
    again: (nonce: number) => void
    outcome: (nonce: number, hash: Hash, outcome: SendOutcome, said: Reported) => void
  },
): Broadcaster {
  const { lane, hub, clock } = context
  const several = hub.endpoints.filter(({ role }) => role !== 'read').length > 1
  const couriers = new Map<HubEndpoint, Courier>()
  const refusals = createRefusals(context)
  const rounds = new Map<Hash, Round>()
  // Nobody can take them for now.
  const waiting = new Map<number, 'again' | undefined>()
  let cancelWake: CancelTimer | undefined
  // Whose turn it is: moved on when it left us without an answer.
  let turn = 0
  const idlers: (() => void)[] = []

  function add(nonce: number, asAgain?: 'again'): void {
    const slot = lane.book.get(nonce)
    const attempt = slot?.state === 'live' ? newestAttempt(slot) : undefined
    if (slot === undefined || attempt === undefined) return
    // One that had a chance and is not in a block may have been swallowed, or be known to some of them only.
    const again = attempt.sends > 0 || slot.attempts.length > 1
    const endpoints = takers(attempt, again || context.broadcast === 'all')
    if (endpoints.length === 0) return waitForOne(nonce, attempt, asAgain)
    if (asAgain) told.again(nonce)
    for (const endpoint of endpoints) courierOf(endpoint).add(nonce, endpoints.length === 1)
  }

  /** In the order in which they are handed the bytes. */
  function takers(attempt: Attempt, all: boolean): readonly HubEndpoint[] {
    const now = clock.now()
    const order = hub.senders()
    const [only] = order
    // Asked for every transaction, and most have one endpoint.
    if (only !== undefined && order.length === 1)
      return mayHave(only, attempt) && only.restUntilMs <= now ? order : NOBODY
    const free = order.filter((endpoint) => mayHave(endpoint, attempt) && endpoint.restUntilMs <= now)
    if (free.length < 2) return free
    if (!all)
      return [free.find((one) => order.indexOf(one) >= turn % order.length) ?? (free[0] as HubEndpoint)]
    // The one that is read first: whether its count shows its pool is seen by what nobody else had before.
    return free.sort((a, b) => Number(b === hub.reader) - Number(a === hub.reader))
  }

  function courierOf(endpoint: HubEndpoint): Courier {
    let courier = couriers.get(endpoint)
    if (courier === undefined) {
      courier = createCourier(context, endpoint, parts)
      couriers.set(endpoint, courier)
    }
    return courier
  }

  function waitForOne(nonce: number, attempt: Attempt, asAgain: 'again' | undefined): void {
    waiting.set(nonce, asAgain ?? waiting.get(nonce))
    const rests = hub
      .senders()
      .filter((endpoint) => mayHave(endpoint, attempt))
      .map(({ restUntilMs }) => restUntilMs)
    if (rests.length === 0 || cancelWake !== undefined) return
    const wake = () => {
      cancelWake = undefined
      kick()
    }
    cancelWake = clock.setTimer(wake, Math.max(1, Math.min(...rests) - clock.now()))
  }

  function kick(): void {
    for (const courier of couriers.values()) courier.kick()
    if (waiting.size === 0) return
    const all = [...waiting]
    waiting.clear()
    for (const [nonce, asAgain] of all) add(nonce, asAgain)
  }

  // --- what comes back -----------------------------------------------------------------------------------------

  const parts: CourierParts = {
    sent: told.sent,
    posting(batch, awaited) {
      if (!several || !awaited) return
      for (const { attempt } of batch) {
        const { hash } = attempt
        const round = rounds.get(hash)
        if (round) round.open++
        else rounds.set(hash, { open: 1, accepted: false, held: new Map() })
      }
    },
    said(said) {
      const { hash } = said.attempt
      const round = rounds.get(hash)
      if (round === undefined) return tell(weighed(said, !several || isFromAll(said, [said])))
      if (said.awaited && --round.open === 0) rounds.delete(hash)
      inRound(round, said)
    },
    failed(endpoint) {
      const order = hub.senders()
      if (order[turn % order.length] === endpoint) turn++
      for (const nonce of couriers.get(endpoint)?.handBack() ?? []) add(nonce)
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

  /** Every endpoint that would be asked now, and answers, refused the bytes for good. */
  function isFromAll({ attempt }: Said, heard: readonly Said[]): boolean {
    const refusing = new Set(heard.filter(isForGood).map(({ endpoint }) => endpoint))
    const now = clock.now()
    const asked = takers(attempt, true).filter(({ silentUntilMs }) => silentUntilMs <= now)
    return heard.every(isForGood) && asked.every((endpoint) => refusing.has(endpoint))
  }

  function tell({ endpoint, nonce, attempt, outcome, reply }: Said): void {
    if (beginsAnew(attempt, outcome, reply)) told.sent(nonce)
    const paced = refusals.paced(nonce, outcome)
    told.outcome(nonce, attempt.hash, paced.outcome, {
      words: wordsOf(endpoint, reply),
      againMs: paced.againMs,
    })
  }

  const isIdle = () => ![...couriers.values()].some(({ busy }) => busy)

  return {
    add,
    kick,
    idle() {
      if (isIdle()) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
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

function wordsOf({ port }: HubEndpoint, reply: RpcReply | undefined): string | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  return `${port.name} said: ${(failure.kind === 'http' ? failure.rpc?.message : undefined) ?? failure.message}`
}

/** A refusal that no retry at this node mends: by the table of messages, or in words that it does not have. */
function isForGood({ outcome, reply }: Said): boolean {
  return outcome.counted || isExplicitRefusal(reply, outcome)
}

/**
 * What is refused for good counts where every endpoint refuses it so: another one may take what one of them does not
 * (row 18), and words that are not known say nothing by themselves (row 13).
 */
function weighed(said: Said, fromAll: boolean): Said {
  if (!isForGood(said)) return said
  const { outcome } = said
  if (fromAll) return { ...said, outcome: { ...outcome, outcome: 'refused', counted: true } }
  return outcome.counted ? { ...said, outcome: { ...outcome, counted: false } } : said
}
