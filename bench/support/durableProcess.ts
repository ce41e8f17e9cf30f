import { postgresStore } from '../../src/store/postgres/index.js'
import { openSender } from '../subjects/txlane.js'
import { obeyOrders } from './children.js'
import { burstWith } from './durableBurst.js'
import { chainOf } from './node.js'
import type { Shared } from './twoProcesses.js'

// One of the two processes: sends its part when it is told to. Whichever does not hold the lane hands its part over.

export type Task = { readonly first: number; readonly count: number }

const shared = JSON.parse(process.env.TXLANE_BENCH_SHARED ?? '{}') as Shared
const store = postgresStore({ connectionString: shared.connectionString })
const sender = openSender({ ...shared, chain: chainOf(shared.url) }, { store })

obeyOrders({
  start: sender.ready(),
  obey: ({ first, count }: Task) => burstWith(sender, first, count),
  async end() {
    await sender.close()
    await store.close()
  },
})
