import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { SUBJECTS } from '../subjects/index.js'
import type { Driver } from '../subjects/types.js'
import { obeyOrders } from './children.js'
import { chainOf } from './node.js'
import type { BurstOrder, Opening, Order, Sent } from './subjectProcesses.js'

// One subject of a benchmark in a separate process: node subjectProcess.ts PLACE-IN-SUBJECTS.

const subject = SUBJECTS[Number(process.argv[2])]
let driver: Driver | undefined

async function open({ url, privateKey, count, chain, cold }: Opening): Promise<void> {
  // The previous sender stays open until the new one is ready, like a sender of a long-running process: V8
  // discards the compiled code of a closed sender during the turns of the other subjects.
  const before = driver
  driver = await subject?.open({ url, chain: chainOf(url, chain), privateKey, count })
  try {
    if (!cold) await driver?.ready?.()
  } finally {
    await before?.close()
  }
}

async function burst({ count, watchLoop }: BurstOrder): Promise<Sent> {
  if (watchLoop) return watchedBurst(count)
  const begun = performance.now()
  await driver?.burst(count)
  return { ms: performance.now() - begun }
}

// The resolution of the delays; each measured delay includes it.
const RESOLUTION_MS = 1

/**
 * Sends in parts if the subject supports it, because the work of the caller in one turn is not the library's.
 */
async function watchedBurst(count: number): Promise<Sent> {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const begun = performance.now()
  await (driver?.burstInParts ?? driver?.burst)?.(count)
  const ms = performance.now() - begun
  delays.disable()
  const msOf = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  return { ms, delayP99Ms: msOf(delays.percentile(99)), delayMsMax: msOf(delays.max) }
}

async function obey(order: Order): Promise<Sent | undefined> {
  switch (order.type) {
    case 'open':
      await open(order)
      return undefined
    case 'burst':
      return burst(order)
    case 'close':
      await driver?.close()
      driver = undefined
      return undefined
    default:
      return order satisfies never
  }
}

obeyOrders({
  start: subject ? Promise.resolve() : Promise.reject(new Error('there is no such subject')),
  obey,
})
