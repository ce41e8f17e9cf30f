import { zeroAddress } from 'viem'
import { idOf } from '../ids.js'
import type { Item, Member } from '../items.js'
import { effectOf, oversized, programRequest, spoiled } from '../program.js'
import type { SubjectRequest } from '../subjectTypes.js'

const DELEGATE = `0x${'de'.repeat(20)}` as const

// Above the ceiling of a lane whose first estimate saw the usual base fee (1,000,000 wei).
const DEAR = { maxFeePerGas: 100_000_000n, maxPriorityFeePerGas: 1_000_000n }
// Above that as well.
export const DEARER = { maxFeePerGas: 200_000_000n, maxPriorityFeePerGas: 3_000_000n }

/** The request and options of an item, the same for every process that sends it. */
export function asSent(item: Item) {
  const { marker, after, declaresEffect } = item
  const options = {
    ...(after && { after: after.markers.map(idOf), afterStatus: after.status, afterStage: after.stage }),
    ...(declaresEffect && { effect: effectOf(marker) }),
    ...(item.receiptWithinMs !== undefined && { receiptWithinMs: item.receiptWithinMs }),
    ...(item.private && { private: true }),
    ...(item.offers === 'dearest' && { feeCeiling: DEAR.maxFeePerGas }),
  }
  return { request: requestOf(item), id: idOf(marker), ...options }
}

export function requestOf({
  program,
  gas,
  oversized: tooBig,
  authorize,
  offers,
}: Member & Partial<Pick<Item, 'oversized' | 'authorize' | 'offers'>>): SubjectRequest {
  const data = programRequest(program)
  return {
    ...(tooBig ? (program.marker % 2 === 0 ? spoiled : oversized)(data) : data),
    ...(gas === undefined ? {} : { gas }),
    ...(offers === undefined ? {} : DEAR),
    ...(authorize === undefined
      ? {}
      : {
          authorize: authorize.map((what) => ({ contractAddress: what === 'set' ? DELEGATE : zeroAddress })),
        }),
  }
}
