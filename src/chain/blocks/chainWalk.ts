import type { Hash } from 'viem'
import { upwards } from '../../ledger/evidence.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { SealedBlock } from './follower.js'

/**
 * The walked part of the chain: blocks linked by parent hashes, the newest `length` of them. It is pure
 * except for the blocks that it fetches.
 */
export type Walk = {
  readonly tip: SealedBlock | undefined
  hashAt(number: number): Hash | undefined
  /**
   * Extends the walk to a block below its start, linked to the blocks above it: `advance` fetches downwards.
   * Returns false for a block that is further back than the walk remembers.
   */
  reach(number: number): boolean
  /**
   * Goes back to the newest walked block that the endpoint still shows, and forward to `latest`, which is
   * below the tip: the chain was reset, or reorganised to a shorter one. Resolves as `advance` does.
   */
  rewind(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
  /**
   * Joins `latest` to the known blocks, or as many of the blocks below it as were available. Resolves with
   * the blocks that left and came, in order. `undefined`: try again later.
   */
  advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
}

export type Advance = {
  /** The blocks that left the chain, from the tip downwards. */
  readonly left: readonly BlockRef[]
  /** The blocks that joined the chain, upwards; the new tip is the last. */
  readonly came: readonly SealedBlock[]
  /** Blocks were skipped: counts and evidence find the transactions in them. */
  readonly jumped: boolean
}

/**
 * The maximum number of missed blocks that are walked one by one. Beyond it the walk restarts at the head.
 */
const MISSED_MAX = 256

/** The number of blocks that a walk remembers: a reorg of `horizon` blocks, twice in a row, and some more. */
export function walkedBlocks(horizon: number): number {
  return horizon * 2 + 16
}

export function createWalk({ length }: { length: number }): Walk {
  const blocks = createLinkedBlocks(length)
  const catchUp = createCatchUp(blocks)
  // The lowest block that a caller has requested.
  let reachTo = Number.POSITIVE_INFINITY

  function restart(latest: SealedBlock, left: readonly BlockRef[]): Advance {
    const jumped = blocks.tip !== undefined
    blocks.restart(latest)
    return { left, came: [latest], jumped }
  }

  /**
   * Nothing links the first tip to known blocks. It therefore has to be shown by its number too, so that one
   * wrong answer is not taken for the chain. A second answer that shows it as the newest is not enough, since
   * an endpoint with that error repeats it.
   */
  async function begin(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const shown = await fetch([latest.number], 'shown')
    return isSame(shown?.[0], latest) ? restart(latest, blocks.leave(0)) : undefined
  }

  /** Too many blocks were missed to walk them: only the blocks that left are determined. */
  async function jump(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const fork = await catchUp.forkBelow(latest, fetch)
    return fork === undefined ? undefined : restart(latest, blocks.leave(fork))
  }

  async function step(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const { tip } = blocks
    if (tip === undefined) return begin(latest, fetch)
    // A lagging replica shows an older head. Only a chain that is at least as long proves anything about
    // ours.
    if (latest.number < tip.number || latest.hash === tip.hash) return { left: [], came: [], jumped: false }
    if (latest.number - tip.number > MISSED_MAX) return jump(latest, fetch)
    const climbed = await catchUp.climb(tip, latest, fetch)
    if (climbed === undefined) return undefined
    if (climbed.came.length > 0) {
      blocks.join(climbed.came)
      return { left: [], came: climbed.came, jumped: false }
    }
    const came = [...climbed.fork, latest]
    const result = await catchUp.link(came, fetch)
    if (result === 'unknown') return undefined
    if (result === 'lost') return begin(latest, fetch)
    const fresh = came.slice(came.findLastIndex(blocks.isLinked))
    const left = blocks.leave(fresh[0]?.number ?? latest.number)
    blocks.join(fresh)
    return { left, came: fresh, jumped: false }
  }

  /**
   * Extends the walk one step down towards the requested block. Blocks that do not link are fetched again
   * with the next advance.
   */
  async function extend(fetch: FetchBlocks): Promise<void> {
    const above = blocks.at(blocks.oldest)
    if (above === undefined || reachTo >= above.number) return
    const first = Math.max(reachTo, above.number - FETCH_AT_ONCE)
    const fetched = await fetch(numbersFrom(first, above.number), 'linked')
    if (fetched !== undefined && isChain([...fetched, above])) blocks.extend(fetched)
  }

  return {
    get tip() {
      return blocks.tip
    },
    hashAt: blocks.hashAt,
    reach(number) {
      if (blocks.tip !== undefined && number <= blocks.tip.number - length) return false
      reachTo = Math.min(reachTo, Math.max(0, number))
      return true
    },
    async rewind(latest, fetch) {
      const fork = await catchUp.ancestorOf(latest, fetch)
      if (fork === undefined) return undefined
      if (blocks.at(fork) === undefined) return begin(latest, fetch)
      const left = blocks.cutBack(fork)
      const on = await step(latest, fetch)
      return { left, came: on?.came ?? [], jumped: false }
    },
    async advance(latest, fetch) {
      const moved = await step(latest, fetch)
      catchUp.ended(moved !== undefined)
      await extend(fetch)
      return moved
    },
  }
}

/**
 * Fetches blocks by number. `undefined` if one of them was not available. A block that links to one of ours
 * is ours, whichever endpoint shows it. Any other block has to be `shown` by an endpoint that proves that it
 * is on our chain.
 */
export type FetchBlocks = (
  numbers: readonly number[],
  how: 'linked' | 'shown',
) => Promise<readonly SealedBlock[] | undefined>

/** The missed blocks that link to walked ones, or the fetched blocks of another fork. */
type Climbed = { readonly came: readonly SealedBlock[]; readonly fork: readonly SealedBlock[] }

/** Fetches the blocks between the walked ones and a new head. */
type CatchUp = {
  /**
   * The missed blocks from the tip upwards, with `latest` on top. If a block is not available, the blocks
   * fetched before it are kept: otherwise the walk would never catch up with an endpoint that loses every
   * other request. If the tip has left the chain, `came` is empty, and `fork` contains the fetched blocks of
   * the other fork below `latest`. Undefined if no block was available.
   */
  climb(from: SealedBlock, latest: SealedBlock, fetch: FetchBlocks): Promise<Climbed | undefined>
  /** Extends `came` downwards until one of its blocks follows a walked one. */
  link(came: SealedBlock[], fetch: FetchBlocks): Promise<'linked' | 'unknown' | 'lost'>
  /**
   * The number above the newest walked block that is still on the chain, searched from the tip downwards.
   * Nothing links `latest` to the walked blocks, so the same answer has to show both `latest` and those
   * blocks. Undefined if an answer does not.
   */
  forkBelow(latest: SealedBlock, fetch: FetchBlocks): Promise<number | undefined>
  /** The number of the newest walked block that is on the chain of `latest`; -1 if there is none. */
  ancestorOf(latest: SealedBlock, fetch: FetchBlocks): Promise<number | undefined>
  /** An advance has ended. After a failure the next one begins with single blocks. */
  ended(hasMoved: boolean): void
}

const FETCH_AT_ONCE = 32

function createCatchUp(blocks: LinkedBlocks): CatchUp {
  // How many blocks are fetched at once. A head that does not join is shown at each poll, and most of its
  // blocks may not exist.
  let atOnce = FETCH_AT_ONCE

  function growStep(): void {
    atOnce = Math.min(2 * atOnce, FETCH_AT_ONCE)
  }

  async function climb(
    from: SealedBlock,
    latest: SealedBlock,
    fetch: FetchBlocks,
  ): Promise<Climbed | undefined> {
    const came: SealedBlock[] = []
    const part = { came, fork: [] }
    let below = from
    while (below.number + 1 < latest.number) {
      const first = below.number + 1
      const fetched = await fetch(numbersFrom(first, Math.min(latest.number, first + atOnce)), 'linked')
      if (fetched === undefined) return came.length === 0 ? undefined : part
      if (!isChain([below, ...fetched])) return isChain([...fetched, latest]) ? { came, fork: fetched } : part
      came.push(...fetched)
      below = fetched.at(-1) ?? below
      growStep()
    }
    return isChain([below, latest]) ? { came: [...came, latest], fork: [] } : part
  }

  async function link(came: SealedBlock[], fetch: FetchBlocks): Promise<'linked' | 'unknown' | 'lost'> {
    for (;;) {
      const lowest = came[0]
      if (lowest === undefined) return 'unknown'
      if (came.some(blocks.isLinked)) return 'linked'
      if (lowest.number <= blocks.oldest) return 'lost'
      // A gap is fetched many blocks at a time; below the tip, a fork is walked down in growing steps.
      const missing = lowest.number - 1 - (blocks.tip?.number ?? 0)
      const step = missing > 0 ? Math.min(missing, atOnce) : Math.min(came.length, FETCH_AT_ONCE)
      const first = Math.max(0, lowest.number - Math.max(1, step))
      const fetched = await fetch(numbersFrom(first, lowest.number), 'linked')
      if (fetched === undefined || !isChain([...fetched, lowest])) return 'unknown'
      came.unshift(...fetched)
      growStep()
    }
  }

  return {
    climb,
    link,
    async forkBelow(latest, fetch) {
      let fork = (blocks.tip?.number ?? 0) + 1
      while (fork > blocks.oldest) {
        const first = Math.max(blocks.oldest, fork - atOnce)
        const fetched = await fetch([...numbersFrom(first, fork), latest.number], 'shown')
        if (fetched === undefined || !isSame(fetched.at(-1), latest)) return undefined
        growStep()
        const same = fetched.findLastIndex(blocks.has)
        fork = first + same + 1
        if (same >= 0) break
      }
      return fork
    },
    async ancestorOf(latest, fetch) {
      const { oldest } = blocks
      for (let end = latest.number + 1; end > oldest; end = Math.max(oldest, end - FETCH_AT_ONCE)) {
        const first = Math.max(oldest, end - FETCH_AT_ONCE)
        const fetched = await fetch(numbersFrom(first, end), 'shown')
        if (fetched === undefined) return undefined
        const same = fetched.findLastIndex(blocks.has)
        if (same >= 0) return first + same
      }
      return -1
    },
    ended(hasMoved) {
      atOnce = hasMoved ? FETCH_AT_ONCE : 1
    },
  }
}

/** The newest walked blocks, without their transactions, each linked to its predecessor. */
type LinkedBlocks = {
  /** The newest block that joined. It stays until another one joins, even if it has left. */
  readonly tip: SealedBlock | undefined
  /** The number of the lowest block; 0 if there is none. */
  readonly oldest: number
  at(number: number): SealedBlock | undefined
  hashAt(number: number): Hash | undefined
  has(block: BlockRef): boolean
  /** The block follows one of these blocks. */
  isLinked(block: SealedBlock): boolean
  /** Adds blocks at the top, and drops those that are too old. */
  join(came: readonly SealedBlock[]): void
  /** Removes the blocks from this number upwards, and returns them from the tip downwards. */
  leave(from: number): BlockRef[]
  /** Removes the blocks above this number, and makes its block the tip. */
  cutBack(number: number): BlockRef[]
  /** Replaces all blocks by this one. */
  restart(block: SealedBlock): void
  /** Adds blocks below the lowest one. */
  extend(lower: readonly SealedBlock[]): void
}

function createLinkedBlocks(length: number): LinkedBlocks {
  const blocks = new Map<number, SealedBlock>()
  let tip: SealedBlock | undefined

  const add = (block: SealedBlock): void => void blocks.set(block.number, { ...block, hashes: [] })

  function join(came: readonly SealedBlock[]): void {
    for (const block of came) {
      add(block)
      tip = block
    }
    if (tip === undefined) return
    for (const number of blocks.keys()) {
      if (number > tip.number - length) break
      blocks.delete(number)
    }
  }

  function leave(from: number): BlockRef[] {
    const left: BlockRef[] = []
    for (let number = tip?.number ?? -1; number >= from; number--) {
      const block = blocks.get(number)
      if (block) left.push({ number, hash: block.hash })
      blocks.delete(number)
    }
    return left
  }

  return {
    get tip() {
      return tip
    },
    get oldest() {
      for (const number of blocks.keys()) return number
      return 0
    },
    at: (number) => blocks.get(number),
    hashAt: (number) => blocks.get(number)?.hash,
    has: ({ number, hash }) => blocks.get(number)?.hash === hash,
    isLinked: ({ number, parentHash }) => blocks.get(number - 1)?.hash === parentHash,
    join,
    leave,
    cutBack(number) {
      const left = leave(number + 1)
      tip = blocks.get(number)
      return left
    },
    restart(block) {
      blocks.clear()
      join([block])
    },
    extend(lower) {
      const known = [...blocks]
      blocks.clear()
      for (const block of lower) add(block)
      for (const [number, block] of known) blocks.set(number, block)
    },
  }
}

/** Whether each block follows the one before it. */
function isChain(blocks: readonly SealedBlock[]): boolean {
  return blocks.every((block, index) => {
    const below = blocks[index - 1]
    return below === undefined || (block.parentHash === below.hash && block.number === below.number + 1)
  })
}

/** The parent is compared too: no block above has confirmed it, and it links the blocks below. */
function isSame(shown: SealedBlock | undefined, latest: SealedBlock): boolean {
  return shown?.hash === latest.hash && shown.parentHash === latest.parentHash
}

/** The numbers from `first` (inclusive) to `end` (exclusive). */
function numbersFrom(first: number, end: number): readonly number[] {
  return upwards(first, end - first)
}
