import { postgresStore } from '../../src/store/postgres/index.js'
import { openSender } from '../subjects/txlane.js'
import { obeyOrders } from './children.js'
import { burstWith } from './durableBurst.js'
import { chainOf } from './node.js'
import type { Shared } from './twoProcesses.js'

// One of the two processes: sends its part on order. The process that does not own the lane hands over its
// part.

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
