import { performance } from 'node:perf_hooks'
import { SUBJECTS } from '../subjects/index.js'
import type { Driver } from '../subjects/types.js'
import { obeyOrders } from './children.js'
import { chainOf } from './node.js'
import type { Burst } from './subjectProcesses.js'

// One subject of a bench, in a process of its own: node subjectProcess.ts PLACE-IN-SUBJECTS.

const subject = SUBJECTS[Number(process.argv[2])]
let driver: Driver | undefined

async function obey({ url, privateKey, count }: Burst): Promise<number> {
  // The one before stays open until then, as a process that goes on sending has a sender: V8 forgets what it compiled for
  // one that is closed while the others have their turns.
  const before = driver
  driver = await subject?.open({ url, chain: chainOf(url), privateKey, count })
  try {
    await driver?.ready?.()
  } finally {
    await before?.close()
  }
  const begun = performance.now()
  await driver?.burst(count)
  return performance.now() - begun
}

obeyOrders({
  start: subject ? Promise.resolve() : Promise.reject(new Error('there is no such subject')),
  obey,
})
