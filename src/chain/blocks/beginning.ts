import { decodeHeader, headerCall, type LightHeader } from '../../rpc/codec.js'
import type { Advance, FetchBlocks, Walk } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { decoded, type Part, sealedOf } from './tickParts.js'

/**
 * Where a walk begins. A block that was shown as the newest before the first tick is asked for by its number with that
 * tick: what one request shows as the newest, and another one under its number, needs no third one.
 */
export type Beginning = {
  /** Shown as the newest before the walk began. */
  saw(block: LightHeader): void
  readonly block: SealedBlock | undefined
  /**
   * What to ask of the endpoint beside the head. `isFirst`: it has not failed, and the answer shows that it is on our
   * chain. One that failed is asked for as little at a time as can be.
   */
  parts(isFirst: boolean): readonly Part[]
  /** Joins `latest` to what is known, from the block that was seen before where it is shown now. */
  advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
}

export function createBeginning(walk: Walk): Beginning {
  let block: SealedBlock | undefined
  /** What the tick under way asks for, and as it shows that under its number. */
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
    // What came between the two is fetched with the next tick.
    const moved = await walk.advance(latest, async () => undefined)
    return { ...began, came: [...began.came, ...(moved?.came ?? [])] }
  }

  return {
    saw(header) {
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
