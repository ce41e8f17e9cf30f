import { type Hex, hexToNumber, numberToHex } from 'viem'
import { type DevnetOptions, startDevnet } from '../../tools/devnet/index.js'
import { createPlainRpc, type PlainRpc } from '../demo/plainRpc.js'
import { createBlocks } from './blocks.js'
import { createPoolWatch, type Evidence, readExecuted } from './evidence.js'
import type { Pooled, World } from './types.js'

// The well-known key of account 1 of every local node, for libraries that need the key and not an account
// object.
const PRIVATE_KEY: Hex = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const ACCOUNT = 1
const FIRST_NONCE = 5
// Some senders keep global counters by chain id and address, so each run has its own chain id.
const CHAIN_ID = 31_400
let worlds = 0

export type OpenWorld = {
  readonly world: World
  /** Reads the state of the chain, unaffected by faults. */
  evidence(): Promise<Evidence>
  stop(): Promise<void>
}

/** A devnet whose block production can be held, and an account that has sent `nonce` transactions. */
export async function openWorld(options: {
  readonly nonce?: number
  readonly chain?: DevnetOptions
}): Promise<OpenWorld> {
  worlds += 1
  const { mode = 'preconfirmed' } = options.chain ?? {}
  const devnet = await startDevnet({
    mining: 'manual',
    ...(mode === 'preconfirmed' ? { blockTimeMs: 2_000, flashblockMs: 1_000 } : {}),
    baseFee: 'constant',
    accounts: ACCOUNT + 2,
    historyBlocks: 2_000,
    chainId: CHAIN_ID + worlds,
    ...options.chain,
  })
  const rpc = createPlainRpc(devnet.url)
  const account = devnet.accounts[ACCOUNT]!
  const firstNonce = options.nonce ?? FIRST_NONCE
  await setUp(rpc, account.address, firstNonce)
  const { number } = await devnet.seal()
  const start = Number(number)

  async function pooled(): Promise<readonly Pooled[]> {
    const from = account.address.toLowerCase()
    return (await devnet.pool()).filter((item) => item.from.toLowerCase() === from)
  }

  const watch = createPoolWatch(rpc, pooled)
  const blocks = createBlocks({ step: () => devnet.stepFlashblock(), onTick: watch.look })
  const { byMethod } = devnet.stats
  const world: World = {
    devnet,
    url: devnet.url,
    chain: devnet.chain,
    account,
    privateKey: PRIVATE_KEY,
    firstNonce,
    faults: devnet.faults,
    hold: blocks.hold,
    release: blocks.release,
    ticks: blocks.ticks,
    until: blocks.until,
    pooled,
    sends: () => (byMethod.eth_sendRawTransaction ?? 0) + (byMethod.eth_sendRawTransactionSync ?? 0),
    calls: () => devnet.stats.rpcCalls,
  }
  return {
    world,
    async evidence() {
      devnet.faults.clear()
      await blocks.hold()
      await devnet.seal()
      const read = await readExecuted(rpc, account.address, start)
      return { firstNonce, ...read, waiting: await pooled(), seen: watch.seen }
    },
    async stop() {
      await blocks.stop()
      await devnet.stop()
    },
  }
}

/** On a fork of a public chain the account may already have transactions and code. */
async function setUp(rpc: PlainRpc, address: Hex, nonce: number): Promise<void> {
  await rpc.call('anvil_setCode', address, '0x')
  const count = hexToNumber((await rpc.call('eth_getTransactionCount', address, 'latest')) as Hex)
  if (count !== nonce) await rpc.call('anvil_setNonce', address, numberToHex(nonce))
}
