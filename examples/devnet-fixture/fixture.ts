import { createSender, memoryStore, type Sender } from 'txlane'
import { type Devnet, startDevnet } from 'txlane/devnet'
import type { LocalAccount } from 'viem'
import { test as base } from 'vitest'

type Fixtures = {
  $file: { devnet: Devnet; accounts: Iterator<LocalAccount> }
  $test: { account: LocalAccount; sender: Sender }
}

/** A chain for each file, and a funded account for each test. */
export const test = base.extend<Fixtures>({
  devnet: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads here what a fixture is made of
    async ({}, use) => {
      await using devnet = await startDevnet({ blockTimeMs: 500, flashblockMs: 100, accounts: 50 })
      await use(devnet)
    },
    { scope: 'file' },
  ],
  accounts: [async ({ devnet }, use) => use(devnet.accounts.values()), { scope: 'file' }],
  account: async ({ accounts }, use) => {
    const { value, done } = accounts.next()
    if (done) throw new Error('More accounts are needed: see startDevnet above.')
    await use(value)
  },
  sender: async ({ devnet, account }, use) => {
    const client = devnet.client(devnet.accounts.indexOf(account))
    const sender = createSender({ client, account, store: memoryStore() })
    await use(sender)
    devnet.faults.clear()
    await sender.close()
  },
})
