import { type Chain, createWalletClient, defineChain, http, type LocalAccount, publicActions } from 'viem'
import { invalid } from '../../src/errors/invalid.js'
import { systemClock } from '../../src/platform/clock.js'
import type { AnvilProcess } from './anvilProcess.js'
import { startTicker } from './chain/ticker.js'
import type { Devnet, DevnetClient } from './devnet.js'
import type { DevnetNode } from './node.js'
import type { DevnetSettings } from './options.js'
import type { AnvilRpc } from './rpc/anvilRpc.js'

const POLLING_MS = 50

export type HandleOptions = {
  readonly settings: DevnetSettings
  readonly accounts: readonly LocalAccount[]
  readonly anvil: AnvilProcess
  readonly rpc: AnvilRpc
  readonly node: DevnetNode
}

/** Builds the object that `startDevnet` returns, and starts the timer in timer mode. */
export function createHandle({ settings, accounts, anvil, rpc, node }: HandleOptions): Devnet {
  const { motion, pool, queue } = node
  const chain = chainOf(settings, node.port)
  const timer = settings.mining === 'timer' ? startTimer() : undefined
  let stopping: Promise<void> | undefined
  void anvil.ended.then(() => timer?.stop())

  function startTimer() {
    const tick = () => motion.step().catch(warn)
    return startTicker({ clock: systemClock, everyMs: settings.flashblockMs, tick })
  }

  // A devnet that stops making blocks must report the reason. During a stop, the last step may fail.
  function warn(error: unknown): void {
    if (stopping !== undefined) return
    process.emitWarning(`The devnet could not make a flashblock: ${String(error)}`)
  }

  async function stop(): Promise<void> {
    timer?.stop()
    await node.close()
    await anvil.stop()
    rpc.close()
  }

  const devnet: Devnet = {
    url: chain.rpcUrls.default.http[0]!,
    wsUrl: chain.rpcUrls.default.webSocket![0]!,
    anvilUrl: anvil.url,
    chain,
    accounts,
    client: (index = 0) => clientOf(chain, accounts, index),
    faults: node.faults,
    stats: node.stats,
    pid: anvil.pid,
    stepFlashblock: motion.step,
    async seal() {
      const { number, hash } = await motion.seal()
      return { number: BigInt(number), hash }
    },
    evict: (hash) => queue.run(() => pool.evict(hash)),
    reorg: motion.reorg,
    async foreign(transaction) {
      const { raw, from, hash } = await node.foreign.prepare(transaction)
      await queue.run(() => pool.inject(raw, from))
      return hash
    },
    pool: pool.list,
    stop() {
      stopping ??= stop()
      return stopping
    },
    [Symbol.asyncDispose]: () => devnet.stop(),
  }
  return devnet
}

function chainOf({ chainId, blockTimeMs }: DevnetSettings, port: number): Chain {
  return defineChain({
    id: chainId,
    name: 'txlane devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [`http://127.0.0.1:${port}`], webSocket: [`ws://127.0.0.1:${port}`] } },
    blockTime: blockTimeMs,
    testnet: true,
    // One process seals all blocks, so a child block proves that a nonce is settled. The sender reads this
    // flag.
    custom: { singleSequencer: true },
  })
}

function clientOf(chain: Chain, accounts: Devnet['accounts'], index: number): DevnetClient {
  const account = accounts[index]
  if (account === undefined) throw invalid('accountIndex', index, `a number below ${accounts.length}`)
  return createWalletClient({
    account,
    chain,
    transport: http(undefined, { batch: false, retryCount: 0 }),
    pollingInterval: POLLING_MS,
    cacheTime: 0,
  }).extend(publicActions)
}
