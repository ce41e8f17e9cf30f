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
 * Finds out who used a nonce that a count says is gone and none of the walked blocks explains. The count is only the
 * trigger: a slot moves by a witness in a body (rule W), and what nothing of this lane is bound to is believed gone when
 * the count was read twice.
 */
export type NonceUsage = {
  /** The `latest` count as a tick read it. */
  count(latest: number, head: number): void
  /** A block left the chain: what was read at it, and above it, is not known any more. */
  left(block: BlockRef): void
  /** A node said "nonce too low". */
  look(): void
  /** An operator lifts a jump: what is below the count is taken as used. */
  acceptJump(): void
  /** A count is above the floor and not explained yet. */
  readonly isOpen: boolean
  /** The count is to be read now: no pause between two looks is under way. */
  readonly wanted: boolean
  /** Resolves when nothing is being looked for. */
  idle(): Promise<void>
  /** The newest `latest` count that bodies do not contradict: nonces below it wait for evidence, not for inclusion. */
  readonly latest: number
  /** Why the nonce at the floor, which a count says is used, is not explained yet. */
  readonly unexplained: string | undefined
}

/** Pauses between two looks for the same nonce: at each new block, and in time where none comes. */
const LOOK_MS = 500
const LOOK_MS_MAX = 10_000
/** How far below the head the account is believed not to have passed the nonce while nothing was read: bodies show it. */
const LOOK_BACK_BLOCKS = 31
/** A new block makes the pause so much shorter: on a chain of many blocks a second not each of them is a look. */
const NEW_BLOCK_PART = 8

/** The nonce that is looked for, and what came of it so far. */
type Search = {
  readonly nonce: number
  looks: number
  notBeforeMs: number
  head: number
  /** Since when no endpoint has shown what used it. */
  fruitlessSinceMs: number | undefined
  why: string | undefined
}

/**
 * @param unwalked takes the nonces whose blocks the walk is still to reach
 * @param carriedIn the block of the transaction of ours that has a tuple for this nonce (EIP-7702), where there is one
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
  // The newest head at which the count was not above the floor: evidence is looked for from there.
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

  /** A node said "nonce too low", and the count does not: another endpoint may count what this one lacks. */
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
      // A search asks several times, and the endpoint may be shared: it ends with the lane.
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

  /** One nonce, or as many as one body explains. True while there is more to explain. */
  async function step(latest: number, head: number, signal: AbortSignal): Promise<boolean> {
    const nonce = book.floor
    if (nonce >= latest) return false
    // Above all that is bound here one witness stands for the whole range: nonces are used in order.
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
    // The chain may have been walked on meanwhile: what is known by now needs no explanation.
    if (nonce !== book.floor) return book.floor < book.cursor && book.floor < latest
    if ('block' in verdict && hasLeft(verdict.block)) return false
    return isFar ? takeFar(verdict, target, head) : take(verdict, nonce, head)
  }

  function searchFrom(head: number): number {
    // One above the head was read on a chain that was cut back, or never was as long.
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

  /** A witness for the highest used nonce: all below it are used, and nothing of this lane is among them. */
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

  /** Whose patience ended goes on to the next nonce without waiting for as long once more. */
  function beginAt(nonce: number, head: number, below: Search | undefined): Search {
    const isExhausted = below !== undefined && book.unproven.has(below.nonce)
    const fruitlessSinceMs = isExhausted ? below.fruitlessSinceMs : undefined
    return { nonce, looks: 0, notBeforeMs: 0, head, fruitlessSinceMs, why: undefined }
  }

  /** The one that is read; where it had nothing to show, each of the others in turn. */
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

  /** The bodies say what the account stands at: the count is wrong, and moves nothing. */
  function refuted({ claimed, shown }: Extract<EvidenceVerdict, { kind: 'refuted' }>, head: number): false {
    const why = `the endpoint counts ${claimed} used nonces, and the bodies of its blocks show ${shown}`
    newest = shown
    belief.forget()
    jump.refuted(shown)
    endpointPool.doubt(why)
    return pause(head, why)
  }

  /**
   * Nothing is shown. What concerns a caller waits, for long if need be. What does not, no-ops and the hypothesis, is taken
   * as used when a block shows a higher nonce, or when the count was read a second time.
   */
  async function fruitless(nonce: number, head: number, why: string | undefined): Promise<boolean> {
    pause(head, why)
    const slot = book.slots.get(nonce)
    if (concernsCaller(slot)) return exhausted(nonce)
    const isShown = shownAboveFloor() > nonce
    const count = isShown ? shownAboveFloor() : newest
    if (!isShown && (jump.isHeld || !(await isBelieved(count, head)))) return false
    // Another count that a tick has read meanwhile has to be confirmed itself.
    if (!isShown && newest !== count) return false
    if (book.floor !== nonce || count <= nonce) return false
    if (isBound(slot)) lane.apply(nonce, { type: 'passed' })
    book.raise(count)
    return book.floor !== nonce && book.floor < count
  }

  /** Where another endpoint counts less, and nothing is shown here, that one may be the better one to read. */
  async function isBelieved(count: number, head: number): Promise<boolean> {
    if (!belief.confirms(count, head)) return false
    const lower = await belief.lowerElsewhere(count)
    if (lower !== undefined) endpointPool.doubt(contradiction(count, lower))
    return lower === undefined
  }

  /** Where the nonce at the floor concerns a caller, its own evidence decides, and no block above it. */
  function shownAboveFloor(): number {
    return book.floor === book.cursor || concernsCaller(book.get(book.floor)) ? 0 : shownByBlocks(context)
  }

  async function exhausted(nonce: number): Promise<boolean> {
    if (search === undefined) return false
    search.fruitlessSinceMs ??= clock.now()
    if (clock.now() - search.fruitlessSinceMs < limits.evidencePatienceMs) return false
    return passed(nonce)
  }

  /** CREATE in delegated code leaves no trace: two endpoints that agree prove it, one alone proves nothing. */
  async function created(nonce: number, head: number, block: BlockRef): Promise<boolean> {
    const isAlone = endpointPool.others().length === 0
    // A count of one endpoint, which is given back where a later one refutes it.
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
   * With what else of ours is in the same block. A lane that is taken over may have a whole window of attempts in a few
   * blocks, and a search for each of them takes several requests, one after the other.
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
   * Row 26, once the count has passed the nonce in a block deep enough to prove an end. Below the head of now: a search
   * takes its time, and who has pruned old states soon has none of what was deep enough when it began.
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

  /** It was left while it was asked about: nobody would tell so once more. */
  function hasLeft({ number, hash }: BlockRef): boolean {
    const walked = tracker.hashAt(number)
    return walked !== undefined && walked !== hash
  }

  /** A block that the walk does not know could leave without a word. */
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
