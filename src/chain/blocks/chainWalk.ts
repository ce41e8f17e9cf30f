import type { Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import { createCatchUp, FETCH_AT_ONCE, type FetchBlocks } from './catchUp.js'
import type { SealedBlock } from './follower.js'
import { createLinkedBlocks, isChain, isSame, numbersFrom } from './linkedBlocks.js'

export type { FetchBlocks } from './catchUp.js'

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
  /** From the tip downwards. */
  readonly left: readonly BlockRef[]
  /** Upwards, ending with the new tip. */
  readonly came: readonly SealedBlock[]
  /** Blocks were skipped: counts and evidence find the transactions in them. */
  readonly jumped: boolean
}

/**
 * The maximum number of missed blocks that are walked one by one. Beyond it the walk restarts at the head.
 */
const MISSED_MAX = 256

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
