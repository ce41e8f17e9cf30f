import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { walkedBlocks } from '../../chain/blocks/chainWalk.js'
import { readBlock } from '../../chain/blocks/evidenceReads.js'
import type { SealedBlock } from '../../chain/blocks/follower.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { headerCall } from '../../rpc/codec.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { createHorizon, type DeclaredFinality, deepUpTo, settledUpTo } from './depths.js'
import type { FinalityIndex } from './finalityIndex.js'
import { createPassedBlocks } from './passedBlocks.js'
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
  readonly store: Pick<Store, 'durable'>
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
  /** A verdict waits for the second reading of a witness. */
  readonly wanted: boolean
  /** A block is deep enough, and has to stand for longer: a poll for each block shows that it does. */
  readonly isRipening: boolean
  /** A transaction or a record in the store waits for finality. */
  readonly isOpen: boolean
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
  const records = createWrittenOffRecords(context)
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
      const deep = deepUpTo(context, head)
      isRipening = deep > settled && book.dueForVerdict(deep).length > book.dueForVerdict(settled).length
      const final = horizon.upTo(head)
      const isWalked = (nonce: number) => !unverifiedNonces.has(nonce)
      finalityIndex.advance(tracker.tag('safe'), final, isWalked, clock)
      await turns.each(book.dueForHorizon(final), (nonce) => {
        if (isWalked(nonce)) lane.apply(nonce, { type: 'horizon' })
      })
      // A block below the walked history cannot be seen to leave: the store alone keeps what it holds.
      const below = head - walkedBlocks(context.limits.reorgHorizon)
      await turns.each(book.dueForHorizon(below), (nonce) => {
        if (isWalked(nonce)) records.writeOff(nonce, below)
      })
      finalityIndex.writeOff(below, isWalked)
      records.prune(final)
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
      return witnesses.wanted
    },
    get isRipening() {
      return isRipening
    },
    get isOpen() {
      return finalityIndex.size > 0 || records.size > 0
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

/** The nonces whose slots were pruned before their blocks became final, so that the store keeps their records. */
type WrittenOffRecords = {
  /** Prunes the slot. A record without a block counts as in block `below`. */
  writeOff(nonce: number, below: number): void
  /** The blocks up to this one are final. */
  prune(final: number): void
  readonly size: number
}

function createWrittenOffRecords({
  lane,
  store,
}: Pick<FinalityContext, 'lane' | 'store'>): WrittenOffRecords {
  const { book, journal } = lane
  const byBlock = new Map<number, number[]>()
  const finalBlocks = createPassedBlocks(byBlock)
  // A durable store may have to bring the bytes back in a later process; a memory store has none.
  const record = store.durable ? 'unchanged' : 'compact'

  return {
    writeOff(nonce, below) {
      const slot = book.get(nonce)
      const at = (slot?.state === 'used' ? slot.at?.number : undefined) ?? below
      lane.apply(nonce, { type: 'horizon', record })
      const nonces = byBlock.get(at)
      if (nonces) nonces.push(nonce)
      else byBlock.set(at, [nonce])
      finalBlocks.added(at)
    },
    prune(final) {
      for (const [number, nonces] of finalBlocks.upTo(final)) {
        byBlock.delete(number)
        for (const nonce of nonces) book.pruneRecord(nonce)
        journal.touch()
      }
    },
    get size() {
      return byBlock.size
    },
  }
}
