import type { Hash } from 'viem'
import type { Clock } from '../../platform/clock.js'
import type { LightHeader } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import { type Arrivals, type ArrivalsOptions, createArrivals } from './arrivals.js'
import { createBeginning } from './beginning.js'
import { type Advance, createWalk, type FetchBlocks } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { standingAt } from './shown.js'
import { createTags, type TagWanted } from './tags.js'
import type { Part } from './tickParts.js'

export type ChainViewOptions = ArrivalsOptions & {
  readonly clock: Clock
  /** The endpoint that is read now. */
  readonly port: () => Port
  /** The other endpoints that can confirm whether they still have a block. */
  readonly others?: () => readonly Port[]
  /**
   * The chain is shorter than before: `left` walked blocks up to `tip` have left it, and its newest block is
   * `head`.
   */
  readonly onReset?: (reset: { readonly tip: number; readonly head: number; readonly left: number }) => void
  readonly timeoutMs: number
  readonly horizon: number
}

/** The chain as far as ticks have shown it: the walked blocks, their times of arrival, and the tags. */
export type ChainView = {
  readonly tip: SealedBlock | undefined
  /** The tip, or the newest block that was seen before the walk began. */
  readonly newest: SealedBlock | undefined
  readonly arrivals: Arrivals
  hashAt(number: number): Hash | undefined
  reach(number: number): boolean
  /** The highest block seen under a tag; `'absent'` if the endpoint does not have the tag. */
  tag(tag: 'safe' | 'finalized'): number | 'absent' | undefined
  /** Reports the newest block of a reading that was made before the walk began. */
  onNewestBlock(block: LightHeader): void
  /** The calls of a tick next to the head. `isFirst`: see `Beginning`. */
  parts(isFirst: boolean): readonly Part[]
  /**
   * Joins the newest block of a tick, as `Walk` does. An endpoint below the tip lags, or its chain was cut
   * back. That is investigated once it has lasted for three periods, and believed if no endpoint shows the
   * tip any more.
   */
  advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
  /** Takes the tags of the same tick. Returns false if the endpoint has to prove that it is on our chain. */
  advanced(moved: Advance | undefined, shown: boolean): boolean
  /** Another endpoint is read from now on. */
  elsewhere(): void
}

/**
 * The number of polls and of block periods for which an endpoint may be below the tip before that is
 * investigated.
 */
const BELOW_LOOKS = 3
const BELOW_PERIODS = 3
const PERIOD_MS_DEFAULT = 2_000
const PERIOD_MS_MAX = 12_000

export function createChainView(
  options: ChainViewOptions,
  tagWanted: (tag: 'safe' | 'finalized') => TagWanted,
): ChainView {
  const { clock, timeoutMs } = options
  const walk = createWalk({ length: options.horizon * 2 + 16 })
  const beginning = createBeginning(walk)
  const arrivals = createArrivals(options)
  const tags = createTags(tagWanted, walk, clock)
  // The endpoint shows an older head than the tip.
  let below: { readonly sinceMs: number; looks: number } | undefined

  /** Whether the endpoint has been below the tip for long enough to be investigated. */
  function isLongBelow(): boolean {
    const nowMs = clock.now()
    below ??= { sinceMs: nowMs, looks: 0 }
    below.looks++
    if (below.looks <= BELOW_LOOKS) return false
    const periodMs = Math.min(PERIOD_MS_MAX, arrivals.blockMs ?? PERIOD_MS_DEFAULT)
    return nowMs - below.sinceMs >= BELOW_PERIODS * periodMs
  }

  return {
    get tip() {
      return walk.tip
    },
    get newest() {
      return walk.tip ?? beginning.block
    },
    arrivals,
    hashAt: walk.hashAt,
    reach: walk.reach,
    tag: tags.get,
    onNewestBlock: beginning.onNewestBlock,
    parts: (isFirst) => [
      ...beginning.parts(isFirst),
      ...tags.parts(walk.tip?.number ?? -1),
      ...arrivals.parts(),
    ],
    async advance(latest, fetch) {
      const tip = walk.tip
      if (tip === undefined || latest.number >= tip.number) {
        below = undefined
        return beginning.advance(latest, fetch)
      }
      if (!isLongBelow()) return walk.advance(latest, fetch)
      below = undefined
      const standing = await standingAt([options.port(), ...(options.others?.() ?? [])], tip, timeoutMs)
      // Another block at that height shows that the chain is as long as before: the endpoint's newest block
      // is not the newest of the chain.
      if (standing !== 'none') return walk.advance(typeof standing === 'object' ? standing : latest, fetch)
      const moved = await walk.rewind(latest, fetch)
      if (moved) options.onReset?.({ tip: tip.number, head: latest.number, left: moved.left.length })
      return moved
    },
    advanced: tags.answered,
    elsewhere() {
      tags.elsewhere()
      arrivals.elsewhere()
    },
  }
}
