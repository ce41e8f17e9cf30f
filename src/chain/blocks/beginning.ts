import { decodeHeader, headerCall, type LightHeader } from '../../rpc/codec.js'
import type { Advance, FetchBlocks, Walk } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { decoded, type Part, sealedOf } from './tickParts.js'

/**
 * The start of a walk. A block that was shown as the newest before the first tick is requested by its number
 * with that tick. One request shows it as the newest and another under its number, so no third request is
 * needed.
 */
export type Beginning = {
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
