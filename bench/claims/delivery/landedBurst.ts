import { startNodeProxy } from '../../../test/support/nodeProxy.js'
import type { Subject } from '../../subjects/types.js'
import type { Geth } from '../../support/geth.js'
import { type Landing, watchLanding } from '../../support/landing.js'
import type { Fresh } from '../../support/node.js'
import type { SubjectProcesses } from '../../support/subjectProcesses.js'

export type LandedBurst = {
  readonly node: Geth
  readonly processes: SubjectProcesses
  readonly subject: Subject
  readonly fresh: Fresh
  readonly count: number
  readonly roundTripMs: number
  readonly limitMs: number
}

export type Landed = Landing & { readonly ms: number; readonly pooledMs: number }

/**
 * geth resubmits dropped local transactions every 10 s. After twice that time without one, the rest is lost.
 */
const QUIET_BLOCKS = 21

/**
 * Runs a burst over a path with the given round trip, beginning right after a block.
 * @throws Error if a transaction has not landed
 */
export async function landedBurst(burst: LandedBurst): Promise<Landed> {
  const { node, processes, subject, fresh, count, roundTripMs, limitMs } = burst
  await using proxy = await startNodeProxy(node.url, { roundTripMs })
  const { privateKey } = fresh
  try {
    await processes.open(subject, { url: proxy.url, privateKey, count, chain: node.chain })
    const begin = () => processes.burst(subject, { count })
    const watched = { node, fresh, count, begin, quietBlocks: QUIET_BLOCKS, limitMs }
    const { ms, pooledMs, ...landing } = await watchLanding(watched)
    if (landing.landed !== count || ms === undefined || pooledMs === undefined)
      throw new Error(`${landing.landed} of ${count} landed`)
    return { ...landing, ms, pooledMs }
  } finally {
    await processes.close(subject)
  }
}
