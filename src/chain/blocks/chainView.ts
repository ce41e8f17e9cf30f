import type { Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { decodeHeader, headerCall, type LightHeader } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import { type Arrivals, type ArrivalsOptions, createArrivals } from './arrivals.js'
import { type Advance, createWalk, type FetchBlocks, type Walk, walkedBlocks } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { createTags, type TagsWanted } from './tags.js'
import { decoded, type Part, sealedOf } from './tickParts.js'

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
  /**
   * The calls of a tick next to the head. `isFirst`: see `Beginning`. `needProof`: the endpoint has to prove in
   * the same request that it is on our chain.
   */
  parts(isFirst: boolean): { readonly parts: readonly Part[]; readonly needProof: boolean }
  /**
   * Joins the newest block of a tick, as `Walk` does. An endpoint below the tip lags, or its chain was cut
   * back. That is investigated once it has lasted for three periods and three seconds, and believed if no endpoint shows the
   * tip any more.
   */
  advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
  /** Takes the tags of the same tick. */
  advanced(moved: Advance | undefined): void
  /** Another endpoint is read from now on. */
  elsewhere(): void
}

/**
 * The number of polls, and the time, for which an endpoint may be below the tip before that is investigated:
 * replicas behind one URL lag by seconds, however fast the blocks are.
 */
const BELOW_LOOKS = 3
const BELOW_PERIODS = 3
const BELOW_MS_MIN = 3_000
const PERIOD_MS_DEFAULT = 2_000
const PERIOD_MS_MAX = 12_000

export function createChainView(options: ChainViewOptions, tagsWanted: () => TagsWanted): ChainView {
  const { clock, timeoutMs } = options
  const walk = createWalk({ length: walkedBlocks(options.horizon) })
  const beginning = createBeginning(walk)
  const arrivals = createArrivals(options)
  const tags = createTags(tagsWanted, walk, clock)
  // The endpoint shows an older head than the tip.
  let below: { readonly sinceMs: number; looks: number } | undefined

  /** Whether the endpoint has been below the tip for long enough to be investigated. */
  function isLongBelow(): boolean {
    const nowMs = clock.now()
    below ??= { sinceMs: nowMs, looks: 0 }
    below.looks++
    if (below.looks <= BELOW_LOOKS) return false
    const periodMs = Math.min(PERIOD_MS_MAX, arrivals.blockMs ?? PERIOD_MS_DEFAULT)
    return nowMs - below.sinceMs >= Math.max(BELOW_MS_MIN, BELOW_PERIODS * periodMs)
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
    parts(isFirst) {
      const ofTags = tags.parts()
      return {
        parts: [...beginning.parts(isFirst), ...ofTags, ...arrivals.parts()],
        needProof: ofTags.length > 0,
      }
    },
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

/**
 * The start of a walk. A block that was shown as the newest before the first tick is requested by its number
 * with that tick. One request shows it as the newest and another under its number, so no third request is
 * needed.
 */
type Beginning = {
  /** Reports a block that was shown as the newest before the walk began. */
  onNewestBlock(block: LightHeader): void
  readonly block: SealedBlock | undefined
  /**
   * The calls to send next to the head. `isFirst`: the endpoint has not failed, and its answer shows that it
   * is on our chain. After a failure the request stays as small as possible.
   */
  parts(isFirst: boolean): readonly Part[]
  /**
   * Joins `latest` to the known blocks. If the block that was seen before is shown again now, the walk starts
   * from it.
   */
  advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
}

export function createBeginning(walk: Walk): Beginning {
  let block: SealedBlock | undefined
  /** The block that the present tick requests, and the block that the answer shows under its number. */
  let asked: SealedBlock | undefined
  let shown: SealedBlock | undefined

  async function advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const again = shown
    if (walk.tip !== undefined || asked === undefined || again?.number !== asked.number)
      return walk.advance(latest, fetch)
    const began = await walk.advance(asked, async (numbers, how) =>
      how === 'shown' && numbers.length === 1 && numbers[0] === again.number ? [again] : fetch(numbers, how),
    )
    if (began === undefined) return walk.advance(latest, fetch)
    // Blocks between the two are fetched with the next tick.
    const moved = await walk.advance(latest, async () => undefined)
    return { ...began, came: [...began.came, ...(moved?.came ?? [])] }
  }

  return {
    onNewestBlock(header) {
      block = sealedOf(header) ?? block
    },
    get block() {
      return block
    },
    parts(isFirst) {
      asked = isFirst && walk.tip === undefined ? block : undefined
      shown = undefined
      if (asked === undefined) return []
      return [
        {
          call: headerCall(asked.number),
          take(reply) {
            shown = sealedOf(decoded(reply, decodeHeader))
          },
        },
      ]
    },
    advance,
  }
}

/** The block itself, no block, or another block. Undefined if that is unknown. */
type Standing = 'same' | 'none' | SealedBlock | undefined

/**
 * The block at the given block's number: the block itself if any of these endpoints has it, otherwise the
 * answer of the first endpoint.
 */
export async function standingAt(
  ports: readonly Port[],
  block: BlockRef,
  timeoutMs: number,
): Promise<Standing> {
  const shown = await Promise.all(ports.map((port) => standingOn(port, block, timeoutMs)))
  return shown.includes('same') ? 'same' : shown[0]
}

async function standingOn(port: Port, block: BlockRef, timeoutMs: number): Promise<Standing> {
  const [reply] = await port.batch([headerCall(block.number)], { timeoutMs })
  if (!reply?.ok) return undefined
  if (reply.result === null) return 'none'
  const other = sealedOf(decoded(reply, decodeHeader))
  return other?.hash === block.hash ? 'same' : other
}
