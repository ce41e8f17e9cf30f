import { createWalletClient, http } from 'viem'
import { createSender, memoryStore } from '../../../src/index.js'
import type { Driver, Subject } from '../types.js'

// Blocks come every 70 ms here, so intervals that are meant for blocks of 2 s are reduced accordingly.
const limits = {
  pollIntervalMs: 50,
  stuckAfterMs: 100,
  gapFillAfterMs: 50,
  closeTimeoutMs: 1_000,
}

export const txlane: Subject = {
  name: 'txlane',
  package: 'txlane',
  offers: ['speedUp'],
  open({ account, chain, url }): Driver {
    const client = createWalletClient({ account, chain, transport: http(url) })
    const sender = createSender({ client, store: memoryStore(), starved: 'fail', limits })
    return {
      ready: () => sender.ready(),
      async send(payment, id) {
        const tx = await sender.send(payment, { id })
        return {
          get hash() {
            return tx.hash!
          },
          wait: (stage) => tx.wait(stage),
          speedUp: () => tx.speedUp(),
        }
      },
      resync: () => sender.resync(),
      close: () => sender.close(),
    }
  },
}
