import type { SealedBlock } from './follower.js'
import { isChain, isSame, type LinkedBlocks, numbersFrom } from './linkedBlocks.js'

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
export type CatchUp = {
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

export const FETCH_AT_ONCE = 32

export function createCatchUp(blocks: LinkedBlocks): CatchUp {
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
