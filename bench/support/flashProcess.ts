import type { Hex } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import { createPlainRpc } from '../../test/demo/plainRpc.js'
import { startNodeProxy } from '../../test/support/nodeProxy.js'
import { shortTags } from '../../test/support/shortTags.js'
import { startTicker } from '../../tools/devnet/chain/ticker.js'
import { startDevnet } from '../../tools/devnet/index.js'
import { obeyOrders } from './children.js'
import { createFault } from './fault.js'
import type { Order, Urls } from './flashProtocol.js'
import { sharedNowMs } from './sharedNow.js'

// A separate process, so that node and measured library do not block each other. It makes the flashblocks
// itself, so that it knows the exact time at which each became visible.

const FLASHBLOCK_MS = 200
// A devnet keeps blocks for reorgs. This one has no faults, so a long history would only use memory.
const HISTORY_BLOCKS = 8

const devnet = await startDevnet({ mining: 'manual', historyBlocks: HISTORY_BLOCKS, ...shortTags(2_000) })
const fault = createFault()
const proxy = await startNodeProxy(devnet.url, { rule: fault.rule })
const rpc = createPlainRpc(devnet.url)
const visibleAtMs = new Map<Hex, number>()

type Block = { readonly transactions: readonly Hex[] } | null

startTicker({
  clock: systemClock,
  everyMs: FLASHBLOCK_MS,
  async tick() {
    await devnet.stepFlashblock()
    const atMs = sharedNowMs()
    const blocks = await rpc.all([
      ['eth_getBlockByNumber', 'latest', false],
      ['eth_getBlockByNumber', 'pending', false],
    ])
    for (const hash of (blocks as Block[]).flatMap((block) => block?.transactions ?? []))
      if (!visibleAtMs.has(hash)) visibleAtMs.set(hash, atMs)
  },
})

async function obey(order: Order): Promise<number | undefined> {
  switch (order.type) {
    case 'visible':
      return visibleAtMs.get(order.hash)
    case 'polls':
      return proxy.take().requestsWith('eth_getBlockByNumber')
    case 'arm':
      fault.arm(order.fault)
      return undefined
    case 'struck':
      return fault.struckAtMs()
    default:
      return order satisfies never
  }
}

// anvil ends with this process.
obeyOrders({ start: Promise.resolve({ url: proxy.url, directUrl: devnet.url } satisfies Urls), obey })
