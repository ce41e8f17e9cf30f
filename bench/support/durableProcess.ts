import { postgresStore } from '../../src/store/postgres/index.js'
import { openSender } from '../subjects/txlane.js'
import { answerWith } from './children.js'
import { burstWith } from './durableBurst.js'
import { chainOf } from './node.js'
import type { Shared } from './twoProcesses.js'

// One of the two processes: sends its part when it is told to. Whichever does not hold the lane hands its part over.

export type Task = { readonly first: number; readonly count: number }

const shared = JSON.parse(process.env.TXLANE_BENCH_SHARED ?? '{}') as Shared
const store = postgresStore({ connectionString: shared.connectionString })
const sender = openSender({ ...shared, chain: chainOf(shared.url) }, { store })

process.on('message', ({ first, count }: Task) => answerWith(burstWith(sender, first, count)))
async function end(): Promise<void> {
  await sender.close()
  await store.close()
}

// The process that measures has no more to ask.
process.once('disconnect', () => void end().finally(() => process.exit()))
answerWith(sender.ready())
