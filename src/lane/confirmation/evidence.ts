import type { Lane } from '../../allocator/lane.js'
import { readCount } from '../../chain/blocks/evidenceReads.js'
import { type EvidenceVerdict, readCountAtHead } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Book } from '../../ledger/book.js'
import type { Witness } from '../../ledger/evidence.js'
import { type BlockRef, concernsCaller, isBound } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { countCall } from '../../rpc/codec.js'
import type { Limits } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { settledUpTo } from './depths.js'
import { emitForeign } from './foreign.js'
import type { Seed } from './seeding.js'
import type { UsedCount } from './usedCount.js'

type EvidenceVerdictsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker'>
  readonly limits: Limits
  readonly lossDepth: 'child' | 'safe' | number
  readonly store: Store
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly closing: AbortSignal
  readonly closed: boolean
  readonly history: Seed['history']
}

type EvidenceEffectsParts = {
  /** Receives the nonces whose blocks the walk has not reached yet. */
  readonly unverifiedNonces: Set<number>
  /** The block of our transaction that has a tuple for this nonce (EIP-7702), if there is one. */
  readonly carriedIn: (nonce: number) => BlockRef | undefined
}

type EvidenceVerdictsParts = EvidenceEffectsParts & {
  readonly context: EvidenceVerdictsContext
  readonly used: UsedCount
  readonly search: EvidenceSearch
}

/** Interprets the evidence of one endpoint. Each function returns true while there is more to explain. */
type EvidenceVerdicts = {
  /** The evidence for the nonce at the floor. */
  take(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean>
  /**
   * The evidence for the highest used nonce. A witness proves that all nonces below it are used, and that
   * nothing of this lane is among them.
   */
  takeHighest(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean>
}

export function createEvidenceVerdicts(parts: EvidenceVerdictsParts): EvidenceVerdicts {
  const { context, used, search } = parts
  const effects = createEvidenceEffects(context, parts)
  const { lane, endpointPool, limits } = context
  const { book } = lane
  const depthCount = createDepthCount(context, search)

  function take(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean> {
    switch (verdict.kind) {
      case 'own':
        effects.own(verdict, nonce)
        search.noteUnused(verdict.block.number - 1)
        return book.floor !== nonce
      case 'other':
        effects.others(verdict.witnesses, verdict.block)
        return book.floor > nonce && book.floor < used.newest
      case 'authorized':
        effects.authorized(nonce, verdict.block)
        return book.floor !== nonce
      case 'created':
        return created(nonce, head, verdict.block)
      case 'notUsed':
        search.noteUnused(head)
        return pause(head, undefined)
      case 'refuted':
        return refuted(verdict, head)
      default:
        return fruitless(nonce, head, verdict.why)
    }
  }

  function takeHighest(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean> {
    if (verdict.kind === 'refuted') return refuted(verdict, head)
    if (verdict.kind === 'notUsed') return pause(head, undefined)
    if (verdict.kind !== 'other')
      return fruitless(book.floor, head, 'why' in verdict ? verdict.why : undefined)
    const [witness] = verdict.witnesses
    book.raise(nonce + 1)
    void emitForeign(context, { nonce, hash: witness?.hash, block: verdict.block.number })
    used.liftJump()
    return book.floor < used.newest
  }

  function pause(head: number, why: string | undefined): false {
    search.pause(head, why)
    return false
  }

  /** Bodies show the account's real nonce: the count is wrong and moves nothing. */
  function refuted({ claimed, shown }: Extract<EvidenceVerdict, { kind: 'refuted' }>, head: number): false {
    const why = `the endpoint counts ${claimed} used nonces, and the bodies of its blocks show ${shown}`
    used.refuted(shown)
    endpointPool.doubtReader(why)
    return pause(head, why)
  }

  /**
   * No endpoint shows the use. A nonce that concerns a caller waits, for long if necessary. Any other nonce
   * (a no-op's, or one of the hypothesis) counts as used when a block shows a higher nonce, or when the count
   * was read a second time.
   */
  async function fruitless(nonce: number, head: number, why: string | undefined): Promise<boolean> {
    pause(head, why)
    const slot = book.slots.get(nonce)
    if (concernsCaller(slot)) return search.isExhausted(limits.evidencePatienceMs) && passed(nonce)
    const count = await used.believed(nonce, head)
    if (count === undefined || book.floor !== nonce || count <= nonce) return false
    if (isBound(slot)) lane.apply(nonce, { type: 'passed' })
    book.raise(count)
    return book.floor !== nonce && book.floor < count
  }

  /**
   * CREATE in delegated code leaves no trace. Two endpoints that agree prove it; one alone proves nothing.
   */
  async function created(nonce: number, head: number, block: BlockRef): Promise<boolean> {
    const why = createdIn(block)
    const isAlone = endpointPool.others().length === 0
    // The count of a single endpoint, which is revoked if a later count refutes it.
    if (isAlone && !concernsCaller(book.slots.get(nonce))) return fruitless(nonce, head, why)
    const agree = !isAlone && search.why === why
    pause(head, why)
    if (agree) {
      effects.created(nonce, block)
      return book.floor !== nonce
    }
    return isAlone ? passed(nonce) : false
  }

  /** Row 26, once the count has passed the nonce in a block that is deep enough to prove an end. */
  async function passed(nonce: number): Promise<boolean> {
    if (!(await depthCount.hasPassed(nonce))) return false
    lane.apply(nonce, { type: 'passed' })
    return book.floor !== nonce
  }

  return { take, takeHighest }
}

/** Shows whether the count has passed a nonce in a block that is deep enough to prove an end. */
function createDepthCount(
  context: Pick<EvidenceVerdictsContext, 'closing' | 'endpointPool' | 'lane' | 'limits' | 'lossDepth'>,
  search: Pick<EvidenceSearch, 'noteCount' | 'passedAt'>,
) {
  const { endpointPool, lane, limits } = context
  const { chainId, tracker } = endpointPool
  const { address } = lane.key

  /**
   * The depth is relative to the current head, because a search takes time. If the endpoint has no state there
   * any more, the count at the present head is read, and counts once that block is deep enough.
   */
  async function hasPassed(nonce: number): Promise<boolean> {
    const deep = settledUpTo(context, tracker.head?.number ?? -1)
    if (deep < 0) return false
    const known = search.passedAt(nonce)
    if (known !== undefined && known.number <= deep) return true
    const call = countCall(address, deep)
    const [reply] = await endpointPool.reader.port.batch([call], { timeoutMs: limits.readTimeoutMs })
    const count = readCount(reply)
    if (count === 'refused' && known === undefined) await readAtHead()
    return typeof count === 'number' && count > nonce
  }

  async function readAtHead(): Promise<void> {
    const { number = -1 } = tracker.head ?? {}
    const hash = tracker.hashAt(number)
    if (hash === undefined) return
    const { reader } = endpointPool
    const signal = context.closing
    const count = await readCountAtHead(reader.port, { address, to: number, hash, chainId, signal })
    if (count !== undefined && tracker.hashAt(number) === hash) search.noteCount(number, count)
  }

  return { hasPassed }
}

const createdIn = ({ number, hash }: BlockRef): string =>
  `the counts around block ${number} (${hash}) pass the nonce of a delegated account without a trace in its body`

/** Applies conclusive evidence to the slots, and extends the walk to its blocks. */
function createEvidenceEffects(
  { lane, endpointPool }: EvidenceVerdictsContext,
  { unverifiedNonces, carriedIn }: EvidenceEffectsParts,
) {
  const { tracker } = endpointPool
  const { book } = lane

  /** A block that the walk does not know could leave unnoticed, so the walk is extended to it. */
  function reach(nonce: number, number: number): void {
    if (tracker.hashAt(number) !== undefined) return
    unverifiedNonces.add(nonce)
    tracker.reach(number)
  }

  return {
    /**
     * Applies the evidence, together with our other transactions in the same block. A lane that changes its
     * owner may have a whole window of attempts in a few blocks, and a separate search for each would take
     * several consecutive requests.
     */
    own({ hash, block, beside }: Extract<EvidenceVerdict, { kind: 'own' }>, nonce: number): void {
      lane.apply(nonce, { type: 'sealed', hash, block })
      reach(nonce, block.number)
      for (const other of beside) {
        const at = book.nonceOf(other)
        if (at === undefined || book.get(at)?.state !== 'live') continue
        lane.apply(at, { type: 'sealed', hash: other, block })
        reach(at, block.number)
      }
    },
    others(witnesses: readonly Witness[], block: BlockRef): void {
      for (const witness of witnesses) {
        const authorized = carriedIn(witness.nonce)?.hash === block.hash
        lane.apply(witness.nonce, { type: 'evidence', block, hash: witness.hash, authorized })
        reach(witness.nonce, block.number)
      }
    },
    authorized(nonce: number, block: BlockRef): void {
      lane.apply(nonce, { type: 'evidence', block, hash: undefined, authorized: true })
      reach(nonce, block.number)
    },
    created(nonce: number, block: BlockRef): void {
      lane.apply(nonce, { type: 'evidence', block, hash: undefined })
      reach(nonce, block.number)
    },
  }
}

type EvidenceSearchParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly book: Pick<Book, 'unproven'>
}

/** The state of the search for the use of a nonce: the start block, and the time of the next attempt. */
type EvidenceSearch = {
  /** The count at this head was not above the floor, so later searches start there. */
  noteUnused(head: number): void
  /** The block of this number left the chain, so readings at it and above it are no longer valid. */
  left(number: number): void
  /** The block number at which a search starts. */
  from(head: number): number
  isDue(nonce: number, head: number): boolean
  /** Begins or continues the search for the use of a nonce. Returns the number of earlier attempts. */
  begin(nonce: number, head: number): number
  /** The attempt was not conclusive; `why` is its reason. */
  pause(head: number, why: string | undefined): void
  /** The count at a block of the chain. It holds until that block leaves. */
  noteCount(number: number, count: number): void
  /** The block at which the count had passed the nonce, if one was noted. */
  passedAt(nonce: number): { readonly number: number } | undefined
  /** No endpoint has shown the use for this time, counted from the first call. */
  isExhausted(patienceMs: number): boolean
  end(): void
  readonly isOpen: boolean
  /** A search is open, and no pause between two attempts is running. */
  readonly isReady: boolean
  /** The reason why the last attempt was not conclusive. */
  readonly why: string | undefined
}

/**
 * Limits of the pause between two attempts for the same nonce. An attempt follows a new block, or the pause
 * if no block comes.
 */
const LOOK_MS = 500
const LOOK_MS_MAX = 10_000
/**
 * Number of blocks below the head in which the search starts without an earlier reading. Bodies show whether
 * the account had passed the nonce there.
 */
const LOOK_BACK_BLOCKS = 31
/**
 * A new block divides the pause by this number, so that a chain of many blocks a second does not cause one
 * attempt per block.
 */
const NEW_BLOCK_PART = 8

/** The nonce whose use is being searched for, and the results so far. */
type Search = {
  readonly nonce: number
  attempts: number
  notBeforeMs: number
  head: number
  /** The time since which no endpoint has shown the use of the nonce. */
  fruitlessSinceMs: number | undefined
  why: string | undefined
}

export function createEvidenceSearch({ clock, book }: EvidenceSearchParts): EvidenceSearch {
  // The newest head at which the count was not above the floor. The search for evidence starts there.
  let unusedAt: number | undefined
  let search: Search | undefined
  let counted: { readonly number: number; readonly count: number } | undefined

  /**
   * If the patience for the nonce right below has ended, this nonce does not wait for the same time again.
   */
  function beginAt(nonce: number, head: number, below: Search | undefined): Search {
    const isExhausted = below !== undefined && book.unproven.has(below.nonce)
    const fruitlessSinceMs = isExhausted ? below.fruitlessSinceMs : undefined
    return { nonce, attempts: 0, notBeforeMs: 0, head, fruitlessSinceMs, why: undefined }
  }

  return {
    noteUnused(head) {
      unusedAt = Math.max(unusedAt ?? 0, head)
    },
    left(number) {
      if (unusedAt !== undefined && unusedAt >= number) unusedAt = Math.max(0, number - 1)
      if (counted !== undefined && counted.number >= number) counted = undefined
    },
    from(head) {
      // A reading above the head belongs to a chain that was cut back, or that was never as long.
      return unusedAt !== undefined && unusedAt <= head ? unusedAt : Math.max(0, head - LOOK_BACK_BLOCKS)
    },
    isDue(nonce, head) {
      if (search?.nonce !== nonce) return true
      const nowMs = clock.now()
      const pauseMs = pauseOf(search.attempts)
      const atNewBlockMs = search.notBeforeMs - pauseMs + Math.max(LOOK_MS, pauseMs / NEW_BLOCK_PART)
      return nowMs >= search.notBeforeMs || (head !== search.head && nowMs >= atNewBlockMs)
    },
    begin(nonce, head) {
      if (search?.nonce !== nonce)
        search = beginAt(nonce, head, search?.nonce === nonce - 1 ? search : undefined)
      return search.attempts
    },
    pause(head, why) {
      if (search === undefined) return
      search.attempts++
      search.head = head
      search.why = why
      search.notBeforeMs = clock.now() + pauseOf(search.attempts)
    },
    noteCount(number, count) {
      counted = { number, count }
    },
    passedAt: (nonce) => (counted !== undefined && counted.count > nonce ? counted : undefined),
    isExhausted(patienceMs) {
      if (search === undefined) return false
      search.fruitlessSinceMs ??= clock.now()
      return clock.now() - search.fruitlessSinceMs >= patienceMs
    },
    end() {
      search = undefined
      counted = undefined
    },
    get isOpen() {
      return search !== undefined
    },
    get isReady() {
      return search !== undefined && clock.now() >= search.notBeforeMs
    },
    get why() {
      return search?.why
    },
  }
}

const pauseOf = (attempts: number): number => Math.min(LOOK_MS_MAX, LOOK_MS * 2 ** Math.min(attempts, 8))
