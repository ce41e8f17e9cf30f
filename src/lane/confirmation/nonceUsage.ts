import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { readEvidence } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Book } from '../../ledger/book.js'
import { type BlockRef, isBound } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { createDoneWaiters } from '../../platform/doneWaiters.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { createEvidenceSearch, createEvidenceVerdicts } from './evidence.js'
import type { Seed } from './seeding.js'
import { createUsedCount, JUMP_MAX } from './usedCount.js'

type NonceUsageContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker'>
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly lossDepth: 'child' | 'safe' | number
  readonly signatures: Signatures
  readonly closing: AbortSignal
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
  /** A block left the chain, so readings at it and above it are no longer valid. */
  left(block: BlockRef): void
  /** A node answered "nonce too low". */
  investigate(): void
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
 * @param unverifiedNonces receives the nonces whose blocks the walk has not reached yet
 * @param carriedIn returns the block of our transaction that has a tuple for this nonce (EIP-7702), if there
 *   is one
 */
export function createNonceUsage(
  context: NonceUsageContext,
  unverifiedNonces: Set<number>,
  carriedIn: (nonce: number) => BlockRef | undefined,
): NonceUsage {
  const { lane, endpointPool, clock } = context
  const { book } = lane
  const tracker = endpointPool.tracker
  const used = createUsedCount(context)
  const search = createEvidenceSearch({ clock, book })
  const verdicts = createEvidenceVerdicts({ context, used, search, unverifiedNonces, carriedIn })
  let seeking = false
  // A node answered "nonce too low" since the last count.
  let asked = false
  const idlers = createDoneWaiters(() => !seeking)

  function count(claimed: number, head: number): void {
    const latest = used.note(claimed, head)
    if (latest <= book.floor) {
      search.noteUnused(head)
      search.end()
    }
    const isUnexplained = asked && latest <= book.floor
    asked = false
    if (isUnexplained) void used.compareHigher(latest)
    if (latest <= book.floor || seeking || !search.isDue(book.floor, head)) return
    void seek(latest, head)
  }

  async function seek(latest: number, head: number): Promise<void> {
    seeking = true
    try {
      while (!context.closed && (await step(latest, head))) {}
    } catch (error) {
      reportError(context, error)
    } finally {
      seeking = false
      idlers.check()
    }
  }

  /**
   * Searches for the use of one nonce, or of all nonces that one body explains. Returns true while there is
   * more to explain.
   */
  async function step(latest: number, head: number): Promise<boolean> {
    const nonce = book.floor
    if (nonce >= latest) return false
    // Above all bound nonces one witness explains the whole range, because nonces are used in order.
    const isFar = latest - nonce > JUMP_MAX && !isBoundBelow(book, latest)
    const target = isFar ? latest - 1 : nonce
    const attempts = search.begin(nonce, head)
    const endpoint = endpointInTurn(endpointPool, attempts)
    const verdict = await readEvidence(endpoint.port, {
      address: lane.key.address,
      nonce: target,
      own: ownAt,
      isOwn: (hash) => book.nonceOf(hash) !== undefined,
      signatures: context.signatures,
      from: search.from(head),
      to: head,
      hashAt: tracker.hashAt,
      carriedIn: carriedIn(target),
      isFirst: attempts === 0,
      chainId: endpointPool.chainId,
      // A search sends several requests and the endpoint may be shared, so the end of the lane aborts it.
      signal: context.closing,
    })
    // If the walk has advanced meanwhile, nonces that it explained need no evidence.
    if (nonce !== book.floor) return book.floor < book.cursor && book.floor < latest
    if ('block' in verdict && hasLeft(verdict.block)) return false
    return isFar ? verdicts.takeHighest(verdict, target, head) : verdicts.take(verdict, nonce, head)
  }

  /** The block left while it was being read. No later event would report that. */
  function hasLeft({ number, hash }: BlockRef): boolean {
    const walked = tracker.hashAt(number)
    return walked !== undefined && walked !== hash
  }

  function ownAt(nonce: number): ReadonlySet<Hash> {
    return new Set(book.get(nonce)?.attempts.map((attempt) => attempt.hash) ?? [])
  }

  return {
    count,
    left: ({ number }) => search.left(number),
    investigate() {
      asked = true
      tracker.wake()
    },
    acceptJump: used.acceptJump,
    idle: idlers.add,
    get latest() {
      return used.newest
    },
    get isOpen() {
      return seeking || asked || search.isOpen
    },
    get wanted() {
      return seeking || asked || search.isReady
    },
    get unexplained() {
      return search.why
    },
  }
}

/** The read endpoint first. If it had no evidence, each of the others in turn. */
function endpointInTurn(
  endpointPool: Pick<EndpointPool, 'others' | 'reader'>,
  attempts: number,
): PoolEndpoint {
  const all = [endpointPool.reader, ...endpointPool.others()]
  return all[attempts % all.length] as PoolEndpoint
}

function isBoundBelow(book: Pick<Book, 'floor' | 'slots'>, latest: number): boolean {
  for (const slot of book.slots.values())
    if (slot.nonce < latest && slot.nonce >= book.floor && isBound(slot)) return true
  return false
}
