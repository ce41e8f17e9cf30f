import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { readBlock } from '../../chain/blocks/evidenceReads.js'
import type { SealedBlock } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { headerCall } from '../../rpc/codec.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import { moveTo } from '../transaction/changes.js'
import type { Transaction, WallClock } from '../transaction/transaction.js'
import { rejectWaitersFor } from '../transaction/waiters.js'
import { createHorizon, deepUpTo, type DeclaredFinality, settledUpTo } from './depths.js'
import { createWitnessCheck } from './witnessCheck.js'

export type FinalityContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<
    EndpointPool,
    'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker' | 'turns'
  >
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly lossDepth: 'child' | 'safe' | number
  readonly finality: DeclaredFinality | undefined
  readonly signatures: Signatures
  readonly closing: AbortSignal
  readonly closed: boolean
}

type FinalityParts = {
  readonly context: FinalityContext
  /** Nonces that were used in blocks which the walk has not seen. */
  readonly unverifiedNonces: Set<number>
  readonly finalityIndex: FinalityIndex
}

/**
 * Applies verdicts to used nonces as their blocks become deep enough, and revokes uses whose blocks leave.
 */
export type Finality = {
  advance(head: number): Promise<void>
  /** A block joined the chain. */
  joined(block: SealedBlock): void
  /** A block left the chain. */
  left(block: BlockRef): void
  /** A verdict waits for the second reading of a witness, or for time. */
  readonly wanted: boolean
}

export function createFinality({ context, unverifiedNonces, finalityIndex }: FinalityParts): Finality {
  const { lane, endpointPool, clock } = context
  const { book } = lane
  const { tracker, turns } = endpointPool
  const spots = createSpotCheck(context, (nonce, block, shown) => {
    const isOnChain = shown.hash === block.hash
    if (isOnChain) horizon.joined({ number: block.number, timestamp: shown.timestamp })
    if (isOnChain || reorgedOut(nonce, block) === false) unverifiedNonces.delete(nonce)
  })
  const witnesses = createWitnessCheck(context)
  const horizon = createHorizon(context)
  // A block is deep enough, and has to stand for longer.
  let isRipening = false
  const deepReorgs = createDeepReorgs(context)

  /**
   * Whether the block that used a nonce is on the chain; undefined while that is not known. A block that was
   * read from the store, or found by evidence, may lie below the start of the walk, and may have left while
   * no process followed the chain.
   */
  function isCanonical(nonce: number): boolean | undefined {
    const slot = book.get(nonce)
    if (slot?.state !== 'used' || slot.at === undefined || slot.at.number < 0) return true
    const walked = tracker.hashAt(slot.at.number)
    if (walked === slot.at.hash) return true
    if (walked !== undefined) return reorgedOut(nonce, slot.at)
    // The walk has seen the block, and the block stayed on the chain as long as blocks are kept.
    if (!unverifiedNonces.has(nonce)) return true
    if (!tracker.reach(slot.at.number)) spots.ask(nonce, slot.at)
    return undefined
  }

  /**
   * Applies that `block` has left, and returns false. A settled block had further blocks above it, which the
   * previous lease owner may have seen. If an endpoint shows another block at the same number, but not as
   * many blocks above it, the endpoint may lag on a branch that the chain has left since. The function then
   * returns undefined.
   */
  function reorgedOut(nonce: number, block: BlockRef): false | undefined {
    const slot = book.get(nonce)
    const isSettled = slot?.state === 'used' && slot.settled
    const head = tracker.head?.number ?? -1
    if (isSettled && block.number <= head && block.number > deepUpTo(context, head)) return undefined
    deepReorgs.left(nonce, block)
    return false
  }

  return {
    async advance(head) {
      for (const nonce of unverifiedNonces)
        if (isCanonical(nonce) !== undefined) unverifiedNonces.delete(nonce)
      const settled = settledUpTo(context, head)
      await turns.each(book.dueForVerdict(settled), (nonce) => {
        if (isCanonical(nonce) === true && witnesses.confirmed(nonce))
          lane.apply(nonce, { type: 'lossDepth' })
      })
      const due = book.dueForVerdict(deepUpTo(context, head))
      isRipening = due.length > book.dueForVerdict(settled).length
      const final = horizon.upTo(head)
      const isWalked = (nonce: number) => !unverifiedNonces.has(nonce)
      finalityIndex.advance(tracker.tag('safe'), final, isWalked, clock)
      await turns.each(book.dueForHorizon(final), (nonce) => {
        if (!unverifiedNonces.has(nonce)) lane.apply(nonce, { type: 'horizon' })
      })
    },
    joined(block) {
      horizon.joined(block)
      deepReorgs.came(block)
    },
    left(block) {
      horizon.left(block)
      for (const nonce of book.usedIn(block.hash))
        if (reorgedOut(nonce, block) === undefined) unverifiedNonces.add(nonce)
    },
    get wanted() {
      return witnesses.wanted || isRipening
    },
  }
}

/**
 * Tracks the settled blocks that have left the chain and contained nonces of the lane. An endpoint that
 * served a shorter chain for a while shows the same blocks again later. Once all of them are back, nothing
 * was lost, and the hold lifts.
 */
export type DeepReorgs = {
  /** A block that used this nonce has left the chain. */
  left(nonce: number, block: BlockRef): void
  /** A block is on the chain. */
  came(block: BlockRef): void
}

/** Row 32: a settled block left the chain. */
const SETTLED_ROW = 32

export function createDeepReorgs({ lane }: { readonly lane: Lane }): DeepReorgs {
  const { holds } = lane
  const gone = new Map<number, Hash>()

  return {
    left(nonce, block) {
      // An operator has already accepted the blocks that left earlier.
      if (!holds.has('deepReorg')) gone.clear()
      const { row } = lane.apply(nonce, { type: 'left', block, token: lane.token() })
      if (row === SETTLED_ROW) gone.set(nonce, block.hash)
    },
    came({ hash }) {
      let isOne = false
      for (const [nonce, left] of gone) if (left === hash) isOne = gone.delete(nonce)
      if (isOne && gone.size === 0) holds.lift('deepReorg')
    },
  }
}

/**
 * Compares single blocks with the chain that lie too far below the head to be walked. A lane that starts
 * again after a long time does not know which blocks left meanwhile.
 */
type SpotCheck = {
  /**
   * Requests the answer whether the block is still on the chain. Repeated requests cause one read at a time.
   */
  ask(nonce: number, block: BlockRef): void
}

/** The block that an endpoint shows at the number. */
type Shown = { readonly hash: Hash; readonly timestamp: number }

const AT_ONCE = 32

function createSpotCheck(
  context: FinalityContext,
  answer: (nonce: number, block: BlockRef, shown: Shown) => void,
): SpotCheck {
  const { endpointPool, limits } = context
  const asked = new Map<number, BlockRef>()
  let reading = false

  async function read(): Promise<void> {
    const some = [...asked].slice(0, AT_ONCE)
    const calls = some.map(([, { number }]) => headerCall(number))
    try {
      const replies = await endpointPool.reader.port.batch(calls, { timeoutMs: limits.readTimeoutMs })
      if (context.closed) return
      for (const [index, [nonce, block]] of some.entries()) {
        const found = readBlock(replies[index])
        // Without an answer nothing is reported; the caller asks again.
        if (found?.hash) answer(nonce, block, { hash: found.hash, timestamp: found.timestamp })
      }
    } finally {
      for (const [nonce] of some) asked.delete(nonce)
      reading = false
    }
  }

  return {
    ask(nonce, block) {
      asked.set(nonce, block)
      if (reading) return
      reading = true
      // Requests of the same turn are sent in one batch, a microtask later.
      queueMicro(() => {
        read().catch((error: unknown) => {
          reportError(context, error)
        })
      })
    },
  }
}

/** Transactions in sealed blocks, on their way to `safe` and `finalized`. */
export type FinalityIndex = {
  add(transaction: Transaction): void
  /** The transaction's block left the chain. */
  remove(transaction: Transaction): void
  advance(
    safe: number | 'absent' | undefined,
    /** The highest final block; -1 while none is known. */
    final: number,
    /**
     * Whether the block that used a nonce is known to be canonical. A transaction in any other block waits.
     */
    stands: (nonce: number) => boolean,
    clock: WallClock,
  ): void
  /** Rejects the callers that wait for a tag which the endpoint does not have. */
  refuse(tag: 'safe' | 'finalized', error: (transaction: Transaction) => TxlaneError): void
  readonly size: number
}

export function createFinalityIndex(done: (transaction: Transaction) => void): FinalityIndex {
  const byBlock = new Map<number, Set<Transaction>>()
  let size = 0

  function passed(limit: number | 'absent' | undefined): [number, Set<Transaction>][] {
    return typeof limit === 'number' ? [...byBlock].filter(([number]) => number <= limit) : []
  }

  return {
    add(transaction) {
      const number = transaction.walkedBlock?.number
      if (number === undefined) return
      const found = byBlock.get(number) ?? new Set()
      byBlock.set(number, found)
      if (!found.has(transaction)) size++
      found.add(transaction)
    },
    remove(transaction) {
      const number = transaction.walkedBlock?.number ?? -1
      const found = byBlock.get(number)
      if (found?.delete(transaction)) size--
      if (found?.size === 0) byBlock.delete(number)
    },
    advance(safe, final, stands, clock) {
      const sure = ({ nonce }: Transaction) => nonce === undefined || stands(nonce)
      for (const [, transactions] of passed(safe)) {
        for (const transaction of transactions)
          if (transaction.stage === 'sealed' && sure(transaction)) moveTo(transaction, 'safe', clock)
      }
      for (const [number, transactions] of passed(final)) {
        for (const transaction of [...transactions].filter(sure)) {
          transactions.delete(transaction)
          size--
          moveTo(transaction, 'finalized', clock)
          done(transaction)
        }
        if (transactions.size === 0) byBlock.delete(number)
      }
    },
    refuse(tag, error) {
      for (const transactions of byBlock.values()) {
        for (const transaction of transactions) {
          if (transaction.waiters?.some(({ stage }) => stage === tag))
            rejectWaitersFor(transaction, tag, error(transaction))
        }
      }
    },
    get size() {
      return size
    },
  }
}
