import type { Hex, LocalAccount } from 'viem'
import { afterAll, afterEach, beforeAll } from 'vitest'
import {
  createNonceAllocator,
  createSender,
  type NonceAllocator,
  type NonceAllocatorParameters,
  type Sender,
} from '../../src/index.js'
import type { Store } from '../../src/types/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { rpc } from './devnetSupport.js'

/** A devnet for the tests of one file, with the allocators and senders that they open on it. */
export type AllocatorWorld = {
  readonly devnet: Devnet
  /** An account that no other test of the file has used. */
  fresh(): LocalAccount
  allocatorOf(account: LocalAccount, options?: Partial<NonceAllocatorParameters>): NonceAllocator
  senderOf(account: LocalAccount, options?: { readonly store?: Store }): Sender
  submit(raw: Hex): Promise<Hex>
  /** Closed after the present test. */
  readonly opened: { close(): Promise<void> }[]
}

/** Registers the hooks that start and stop the world. */
export function allocatorWorld(): AllocatorWorld {
  const opened: { close(): Promise<void> }[] = []
  let devnet: Devnet
  let nextAccount = 0

  beforeAll(async () => {
    devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 40 })
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
    devnet.faults.clear()
  })
  afterAll(() => devnet.stop())

  return {
    get devnet() {
      return devnet
    },
    fresh() {
      const account = devnet.accounts[nextAccount++]
      if (account === undefined) throw new Error('the devnet has no account left')
      return account
    },
    allocatorOf(account, options = {}) {
      const allocator = createNonceAllocator({
        client: devnet.client(),
        address: account.address,
        lossDepth: 'child',
        ...options,
      })
      opened.push(allocator)
      return allocator
    },
    senderOf(account, options = {}) {
      const sender = createSender({ client: devnet.client(), account, lossDepth: 'child', ...options })
      opened.push(sender)
      return sender
    },
    opened,
    submit: (raw) => rpc(devnet.url, 'eth_sendRawTransaction', raw),
  }
}
