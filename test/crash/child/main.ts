import { readFileSync } from 'node:fs'
import { createClient, http } from 'viem'
import { isTxlaneError } from '../../../src/errors/base.js'
import { createNonceAllocator, createSender, memoryStore, type Sender } from '../../../src/index.js'
import { createAccounts } from '../../../tools/devnet/accounts.js'
import { pause } from '../../support/pause.js'
import { chainOf, openStore } from '../../sweep/opening.js'
import type { LifeOrder } from '../asks.js'
import { createCrashingFetch, createCrashingStore, createTrigger } from './crashes.js'
import { report } from './report.js'
import { createUser } from './user.js'

// One life of the user's process: it opens the store of earlier lives, requests all open asks, and closes.

const LIMITS = {
  // Short, because every later life waits for the nonces that an earlier life had reserved and not committed.
  reservationTtlMs: 1_500,
  gapFillAfterMs: 300,
}
// The retry interval while the lease of the previous life is valid.
const LANE_TAKEN_MS = 25
const POOL_MAX = 3

const order = JSON.parse(readFileSync(0, 'utf8')) as LifeOrder
report({ report: 'begun' })
await live()
report({ report: 'done' })
// Kept-alive connections would also keep the process running.
process.exit(0)

async function live(): Promise<void> {
  const pass = createTrigger(order.end)
  // Clients look up the global `fetch` at each request.
  globalThis.fetch = createCrashingFetch(pass)
  const account = createAccounts(order.account + 1)[order.account]!
  const client = createClient({
    account,
    chain: chainOf(order),
    transport: http(order.url, { retryCount: 0 }),
  })
  const inner = order.store.kind === 'memory' ? memoryStore() : await openStore(order.store, POOL_MAX)
  const store = createCrashingStore(inner, pass)
  const sender = createSender({ client, store, lossDepth: 'child', limits: LIMITS }) as unknown as Sender
  const allocator = createNonceAllocator({ client, address: account.address, store, limits: LIMITS })
  sender.on('accepted', () => report({ report: 'works' }))
  sender.on('held', ({ reason }) => report({ report: 'trouble', message: `held: ${reason}` }))
  sender.on('foreign', ({ nonce }) => report({ report: 'trouble', message: `foreign: ${nonce}` }))
  sender.on('unresolved', ({ nonce }) => report({ report: 'trouble', message: `unresolved: ${nonce}` }))
  await untilOpen(sender)
  report({ report: 'open' })

  const user = createUser({ sender, allocator, client, url: order.url, ...LIMITS })
  const all = Promise.all(order.asks.map((ask) => user.ask(ask)))
  if (order.closeAfterMs === undefined) {
    await all
    await sender.drain()
  } else await pause(order.closeAfterMs)
  user.closing()
  await allocator.close()
  await sender.close()
  await all
  await store.close()
}

async function untilOpen(sender: Sender): Promise<void> {
  for (;;) {
    try {
      return await sender.ready()
    } catch (error) {
      if (!isTxlaneError(error) || error.code !== 'LEASE_LOST') throw error
      await pause(LANE_TAKEN_MS)
    }
  }
}
