import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { type EvidenceVerdict, readEvidence } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Witness } from '../../ledger/evidence.js'
import { type BlockRef, concernsCaller, isBound } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { StopSignal } from '../../platform/stopSignal.js'
import { withStopSignal } from '../../platform/stopSignal.js'
import { countCall, decodeNumber } from '../../rpc/codec.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { contradiction, createCountBelief } from './countBelief.js'
import { settledUpTo } from './depth.js'
import { tellForeign } from './foreign.js'
import { createJumpHold, JUMP_MAX } from './jumpHold.js'
import type { Seed } from './seeding.js'
import { shownByBlocks } from './shownByBlocks.js'

type NonceUsageContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly lossDepth: 'child' | 'safe' | number
  readonly signatures: Signatures
  readonly closing: StopSignal
  readonly closed: boolean
  readonly history: Seed['history']
}

/**
 * Finds the transaction that used a nonce, if a count says that the nonce is used and no walked block
 * explains it. The count is only the trigger: a slot moves because of a witness in a body (rule W). A nonce
 * to which nothing of this lane is bound is believed used when the count was read twice.
 */
export type NonceUsage = {
  /** The `latest` count that a tick has read. */
  count(latest: number, head: number): void
  /** A block left the chain, so that readings at it and above it are no longer valid. */
  left(block: BlockRef): void
  /** A node answered "nonce too low". */
  look(): void
  /** An operator accepts a jump: all nonces below the count are treated as used. */
  acceptJump(): void
  /** A count is above the floor and not explained yet. */
  readonly isOpen: boolean
  /** The count should be read now, because no pause between two attempts is running. */
  readonly wanted: boolean
  /** Resolves when no search is running. */
  idle(): Promise<void>
  /**
   * The newest `latest` count that bodies do not contradict. Nonces below it wait for evidence, not for
   * inclusion.
   */
  readonly latest: number
  /** The reason why the nonce at the floor, which a count says is used, is not explained yet. */
  readonly unexplained: string | undefined
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
  looks: number
  notBeforeMs: number
  head: number
  /** The time since which no endpoint has shown the use of the nonce. */
  fruitlessSinceMs: number | undefined
  why: string | undefined
}

/**
 * @param unwalked receives the nonces whose blocks the walk has not reached yet
 * @param carriedIn returns the block of our transaction that has a tuple for this nonce (EIP-7702), if there
 *   is one
 */
export function createNonceUsage(
  context: NonceUsageContext,
  unwalked: Set<number>,
  carriedIn: (nonce: number) => BlockRef | undefined,
): NonceUsage {
  const { lane, endpointPool, limits, clock } = context
  const { book } = lane
  const tracker = endpointPool.tracker
  const belief = createCountBelief({
    clock,
    endpointPool,
    address: lane.key.address,
    timeoutMs: limits.readTimeoutMs,
  })
  const jump = createJumpHold(context, belief)
  let seeking = false
  let asked = false
  // The newest head at which the count was not above the floor. The search for evidence starts there.
  let quietAt: number | undefined
  let search: Search | undefined
  let newest = 0
  let idlers: (() => void)[] = []

  function count(claimed: number, head: number): void {
    const latest = Math.max(claimed, shownAboveFloor())
    newest = latest
    if (latest <= book.floor) {
      quietAt = Math.max(quietAt ?? 0, head)
      search = undefined
      belief.forget()
    }
    jump.count(latest, head)
    const isUnexplained = asked && latest <= book.floor
    asked = false
    if (isUnexplained) void doubtLow(latest)
    if (latest <= book.floor || seeking || !isDue(head)) return
    void seek(latest, head)
  }

  /**
   * A node answered "nonce too low", and the count does not confirm it. Another endpoint may count
   * transactions that this one lacks.
   */
  async function doubtLow(count: number): Promise<void> {
    const higher = await belief.higherElsewhere(count)
    if (higher !== undefined && book.floor < higher) endpointPool.doubt(contradiction(count, higher))
  }

  function isDue(head: number): boolean {
    if (search?.nonce !== book.floor) return true
    const nowMs = clock.now()
    const pauseMs = pauseOf(search.looks)
    const atNewBlockMs = search.notBeforeMs - pauseMs + Math.max(LOOK_MS, pauseMs / NEW_BLOCK_PART)
    return nowMs >= search.notBeforeMs || (head !== search.head && nowMs >= atNewBlockMs)
  }

  const pauseOf = (looks: number): number => Math.min(LOOK_MS_MAX, LOOK_MS * 2 ** Math.min(looks, 8))

  async function seek(latest: number, head: number): Promise<void> {
    seeking = true
    try {
      // A search sends several requests and the endpoint may be shared, so that the end of the lane aborts
      // it.
      await withStopSignal(context.closing, async (signal) => {
        while (!context.closed && (await step(latest, head, signal))) {}
      })
    } catch (error) {
      reportError(context, error)
    } finally {
      seeking = false
      const all = idlers
      idlers = []
      for (const done of all) done()
    }
  }

  /**
   * Searches for the use of one nonce, or of all nonces that one body explains. Returns true while there is
   * more to explain.
   */
  async function step(latest: number, head: number, signal: AbortSignal): Promise<boolean> {
    const nonce = book.floor
    if (nonce >= latest) return false
    // Above all bound nonces one witness explains the whole range, because nonces are used in order.
    const isFar = latest - nonce > JUMP_MAX && !isBoundBelow(latest)
    const target = isFar ? latest - 1 : nonce
    if (search?.nonce !== nonce)
      search = beginAt(nonce, head, search?.nonce === nonce - 1 ? search : undefined)
    const endpoint = endpointFor(search.looks)
    const verdict = await readEvidence(endpoint.port, {
      address: lane.key.address,
      nonce: target,
      own: ownAt,
      isOwn: (hash) => book.nonceOf(hash) !== undefined,
      signatures: context.signatures,
      from: searchFrom(head),
      to: head,
      hashAt: tracker.hashAt,
      carriedIn: carriedIn(target),
      isFirst: search.looks === 0,
      chainId: endpointPool.chainId,
      signal,
    })
    // If the walk has advanced meanwhile, nonces that it explained need no evidence.
    if (nonce !== book.floor) return book.floor < book.cursor && book.floor < latest
    if ('block' in verdict && hasLeft(verdict.block)) return false
    return isFar ? takeFar(verdict, target, head) : take(verdict, nonce, head)
  }

  function searchFrom(head: number): number {
    // A reading above the head belongs to a chain that was cut back, or that was never as long.
    return quietAt !== undefined && quietAt <= head ? quietAt : Math.max(0, head - LOOK_BACK_BLOCKS)
  }

  function take(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean> {
    switch (verdict.kind) {
      case 'own':
        return takeOwn(verdict, nonce)
      case 'other':
        return others(verdict.witnesses, verdict.block)
      case 'authorized':
        lane.apply(nonce, { type: 'evidence', block: verdict.block, hash: undefined, authorized: true })
        reach(nonce, verdict.block.number)
        return book.floor !== nonce
      case 'created':
        return created(nonce, head, verdict.block)
      case 'notUsed':
        quietAt = Math.max(quietAt ?? 0, head)
        return pause(head, undefined)
      case 'refuted':
        return refuted(verdict, head)
      default:
        return fruitless(nonce, head, verdict.why)
    }
  }

  /**
   * Handles a witness for the highest used nonce: all nonces below it are used, and nothing of this lane is
   * among them.
   */
  function takeFar(verdict: EvidenceVerdict, target: number, head: number): boolean | Promise<boolean> {
    if (verdict.kind === 'refuted') return refuted(verdict, head)
    if (verdict.kind === 'notUsed') return pause(head, undefined)
    if (verdict.kind !== 'other')
      return fruitless(book.floor, head, 'why' in verdict ? verdict.why : undefined)
    const [witness] = verdict.witnesses
    book.raise(target + 1)
    void tellForeign(context, { nonce: target, hash: witness?.hash, block: verdict.block.number })
    jump.lift()
    return book.floor < newest
  }

  function isBoundBelow(latest: number): boolean {
    for (const slot of book.slots.values())
      if (slot.nonce < latest && slot.nonce >= book.floor && isBound(slot)) return true
    return false
  }

  /**
   * If the patience for the nonce right below has ended, this nonce does not wait for the same time again.
   */
  function beginAt(nonce: number, head: number, below: Search | undefined): Search {
    const isExhausted = below !== undefined && book.unproven.has(below.nonce)
    const fruitlessSinceMs = isExhausted ? below.fruitlessSinceMs : undefined
    return { nonce, looks: 0, notBeforeMs: 0, head, fruitlessSinceMs, why: undefined }
  }

  /** The read endpoint first. If it had no evidence, each of the others in turn. */
  function endpointFor(looks: number): PoolEndpoint {
    const all = [endpointPool.reader, ...endpointPool.others()]
    return all[looks % all.length] as PoolEndpoint
  }

  function pause(head: number, why: string | undefined): false {
    if (search === undefined) return false
    search.looks++
    search.head = head
    search.why = why
    search.notBeforeMs = clock.now() + pauseOf(search.looks)
    return false
  }

  /** Bodies show the account's real nonce: the count is wrong and moves nothing. */
  function refuted({ claimed, shown }: Extract<EvidenceVerdict, { kind: 'refuted' }>, head: number): false {
    const why = `the endpoint counts ${claimed} used nonces, and the bodies of its blocks show ${shown}`
    newest = shown
    belief.forget()
    jump.refuted(shown)
    endpointPool.doubt(why)
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
    if (concernsCaller(slot)) return exhausted(nonce)
    const isShown = shownAboveFloor() > nonce
    const count = isShown ? shownAboveFloor() : newest
    if (!isShown && (jump.isHeld || !(await isBelieved(count, head)))) return false
    // A different count from a later tick needs a confirmation of its own.
    if (!isShown && newest !== count) return false
    if (book.floor !== nonce || count <= nonce) return false
    if (isBound(slot)) lane.apply(nonce, { type: 'passed' })
    book.raise(count)
    return book.floor !== nonce && book.floor < count
  }

  /**
   * If another endpoint counts less and this one shows no evidence, the other endpoint may be the better one
   * to read from.
   */
  async function isBelieved(count: number, head: number): Promise<boolean> {
    if (!belief.confirms(count, head)) return false
    const lower = await belief.lowerElsewhere(count)
    if (lower !== undefined) endpointPool.doubt(contradiction(count, lower))
    return lower === undefined
  }

  /** If the nonce at the floor concerns a caller, only its own evidence decides, and no block above it. */
  function shownAboveFloor(): number {
    return book.floor === book.cursor || concernsCaller(book.get(book.floor)) ? 0 : shownByBlocks(context)
  }

  async function exhausted(nonce: number): Promise<boolean> {
    if (search === undefined) return false
    search.fruitlessSinceMs ??= clock.now()
    if (clock.now() - search.fruitlessSinceMs < limits.evidencePatienceMs) return false
    return passed(nonce)
  }

  /**
   * CREATE in delegated code leaves no trace. Two endpoints that agree prove it; one alone proves nothing.
   */
  async function created(nonce: number, head: number, block: BlockRef): Promise<boolean> {
    const isAlone = endpointPool.others().length === 0
    // The count of a single endpoint, which is revoked if a later count refutes it.
    if (isAlone && !concernsCaller(book.slots.get(nonce))) return fruitless(nonce, head, createdIn(block))
    const agree = !isAlone && search?.why === createdIn(block)
    pause(head, createdIn(block))
    if (agree) {
      lane.apply(nonce, { type: 'evidence', block, hash: undefined })
      reach(nonce, block.number)
      return book.floor !== nonce
    }
    return isAlone ? passed(nonce) : false
  }

  const createdIn = ({ number, hash }: BlockRef): string =>
    `the counts around block ${number} (${hash}) pass the nonce of a delegated account without a trace in its body`

  /**
   * Applies the evidence, together with our other transactions in the same block. A lane that changes its
   * owner may have a whole window of attempts in a few blocks, and a separate search for each would take
   * several consecutive requests.
   */
  function takeOwn(
    { hash, block, beside }: Extract<EvidenceVerdict, { kind: 'own' }>,
    nonce: number,
  ): boolean {
    lane.apply(nonce, { type: 'sealed', hash, block })
    reach(nonce, block.number)
    quietAt = Math.max(quietAt ?? 0, block.number - 1)
    for (const other of beside) {
      const at = book.nonceOf(other)
      if (at === undefined || book.get(at)?.state !== 'live') continue
      lane.apply(at, { type: 'sealed', hash: other, block })
      reach(at, block.number)
    }
    return book.floor !== nonce
  }

  /**
   * Row 26, once the count has passed the nonce in a block that is deep enough to prove an end. The depth is
   * relative to the current head: a search takes time, and a node that prunes states quickly may no longer
   * have the block that was deep enough at the start.
   */
  async function passed(nonce: number): Promise<boolean> {
    const deep = settledUpTo(context, tracker.head?.number ?? -1)
    if (deep < 0) return false
    const call = countCall(lane.key.address, deep)
    const [reply] = await endpointPool.reader.port.batch([call], { timeoutMs: limits.readTimeoutMs })
    if (!reply?.ok || decodeNumber(reply.result, call.method) <= nonce) return false
    lane.apply(nonce, { type: 'passed' })
    return book.floor !== nonce
  }

  function others(witnesses: readonly Witness[], block: BlockRef): boolean {
    const nonce = book.floor
    for (const witness of witnesses) {
      const authorized = carriedIn(witness.nonce)?.hash === block.hash
      lane.apply(witness.nonce, { type: 'evidence', block, hash: witness.hash, authorized })
      reach(witness.nonce, block.number)
    }
    return book.floor > nonce && book.floor < newest
  }

  /** The block left while it was being read. No later event would report that. */
  function hasLeft({ number, hash }: BlockRef): boolean {
    const walked = tracker.hashAt(number)
    return walked !== undefined && walked !== hash
  }

  /** A block that the walk does not know could leave unnoticed, so that the walk is extended to it. */
  function reach(nonce: number, number: number): void {
    if (tracker.hashAt(number) !== undefined) return
    unwalked.add(nonce)
    tracker.reach(number)
  }

  function ownAt(nonce: number): ReadonlySet<Hash> {
    return new Set(book.get(nonce)?.attempts.map((attempt) => attempt.hash) ?? [])
  }

  return {
    count,
    left({ number }) {
      if (quietAt !== undefined && quietAt >= number) quietAt = Math.max(0, number - 1)
    },
    look() {
      asked = true
      tracker.wake()
    },
    acceptJump: jump.accept,
    idle() {
      if (!seeking) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
    },
    get latest() {
      return newest
    },
    get isOpen() {
      return seeking || asked || search !== undefined
    },
    get wanted() {
      return seeking || asked || (search !== undefined && clock.now() >= search.notBeforeMs)
    },
    get unexplained() {
      return search?.why
    },
  }
}
