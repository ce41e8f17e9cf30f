import type { Hex, LocalAccount } from 'viem'
import type { Clock } from '../../src/platform/clock.js'
import { type ChainState, createChainState } from './chain/chainState.js'
import type { ChainView } from './chain/chainView.js'
import { createGate } from './chain/gate.js'
import { pendingHeader } from './chain/headers.js'
import { createMotion, createQueue, type Motion, type Queue } from './chain/motion.js'
import { createSteps } from './chain/steps.js'
import { createFaults, type Faults } from './faults/faults.js'
import { seededRandom } from './faults/seeded.js'
import { createForeign, type Foreign } from './foreign.js'
import type { DevnetSettings } from './options.js'
import { createAnvilPool } from './pool/anvilPool.js'
import { createBaseBook } from './pool/baseBook.js'
import { createGethBook } from './pool/gethBook.js'
import type { Pool } from './pool/pool.js'
import { BASE_RULES } from './pool/poolRules.js'
import { createRulesPool } from './pool/rulesPool.js'
import { newHeadOf } from './reads/readBlocks.js'
import type { ReadContext } from './reads/readContext.js'
import type { AnvilRpc } from './rpc/anvilRpc.js'
import type { RpcObject } from './rpc/rpcTypes.js'
import { createAnnouncements } from './serve/announcements.js'
import { createControl } from './serve/controls.js'
import { createExchange, type DevnetStats } from './serve/exchange.js'
import { createGateway, receiptThrough } from './serve/gateway.js'
import { serveHttp } from './serve/http.js'
import { createSends } from './serve/sends.js'
import { createSubscriptions } from './serve/subscriptions.js'
import { serveWs } from './serve/ws.js'

/** All parts between anvil and the clients. */
export type DevnetNode = {
  readonly port: number
  readonly faults: Faults
  readonly stats: DevnetStats
  readonly pool: Pool
  readonly queue: Queue
  readonly motion: Motion
  readonly foreign: Foreign
  close(): Promise<void>
}

export type NodeOptions = {
  readonly settings: DevnetSettings
  readonly rpc: AnvilRpc
  readonly accounts: readonly LocalAccount[]
  readonly clock: Clock
  readonly salt: () => Hex
}

// The tip that nodes suggest without competition for block space, and that anvil suggests.
const TIP_WEI = 1_000_000_000n

export async function createNode(options: NodeOptions): Promise<DevnetNode> {
  const { settings, rpc, clock } = options
  const { rules, chainId } = settings
  const faults = createFaults({ seed: settings.seed, clock })
  const foreign = createForeign({ rpc, chainId, accounts: options.accounts })
  const chain = await chainOf(options)
  const pool = poolOf(options, foreign)
  const queue = createQueue()
  const gate = createGate()
  const readSettings = readSettingsOf(settings)

  const context = (view: ChainView): ReadContext => {
    const { byHash, deposit } = chain
    return { view, byHash, deposit, ...readSettings, pool, chainId, rules, tipWei: TIP_WEI }
  }
  const sends = createSends({
    pool,
    clock,
    sync: settings,
    receiptOf: (hash) => receiptThrough(gateway, hash),
    onAccepted: (hash) => announcements.accepted(hash),
  })
  const gateway = createGateway({
    rpc,
    sends,
    gate,
    view: chain.view,
    context,
    blockReceipts: settings.blockReceipts,
    hasFlashblocks: settings.flashblocksPerBlock > 1,
    control: createControl({
      rpc,
      queue,
      seal: async () => void (await motion.seal()),
      touched: async () => (await pool.settle())(),
    }),
  })
  const exchange = createExchange({ gateway, faults, clock, ...settings })
  const http = await serveHttp(exchange, settings.port)
  const subscriptions = createSubscriptions({ rules, faults })
  const ws = await serveWs(http.server, exchange, subscriptions)
  const announcements = createAnnouncements({
    subscriptions,
    pool,
    headerOf: (block) => newHeadOf({ ...readSettings, rules }, block),
    read: gateway.read,
  })
  const steps = createSteps({
    rpc,
    chain,
    pool,
    gate,
    ...settings,
    flashblockLost: () => faults.strikes('lostFlashblock') !== undefined,
    onFlashblock(hashes) {
      sends.progressed()
      announcements.flashblock(hashes, () => ({ ...pendingHeader(chain.view()), transactions: hashes }))
    },
    onSealed(block) {
      sends.progressed()
      announcements.sealed(block)
    },
    onRemoving: announcements.removing,
  })
  const motion = createMotion({ queue, steps, faults, view: chain.view, ...settings })

  return {
    port: http.port,
    faults,
    stats: exchange.stats,
    pool,
    queue,
    motion,
    foreign,
    async close() {
      exchange.close()
      sends.close()
      ws?.close()
      await http.close()
      // A running task still calls anvil, which ends next.
      await queue.run(async () => undefined)
    },
  }
}

async function chainOf({ rpc, settings, salt }: NodeOptions): Promise<ChainState> {
  const base = (await rpc.call('eth_getBlockByNumber', ['latest', false])) as RpcObject
  return createChainState({
    base,
    // A lane key contains the genesis hash. Two devnets started in the same second must not look like one
    // chain.
    baseHash: settings.forkUrl === undefined ? salt() : (base.hash as Hex),
    blockTimeMs: settings.blockTimeMs,
    constantBaseFee: settings.baseFee === 'constant',
    hasDeposits: settings.mode === 'fastBlocks',
    salt,
  })
}

function readSettingsOf(settings: DevnetSettings) {
  const { rules, mode, safeLagMs, safeStepMs, finalizedLagMs, finalizedStepMs, timestampMs } = settings
  return {
    safe: { lagMs: safeLagMs, stepMs: safeStepMs },
    finalized: { lagMs: finalizedLagMs, stepMs: finalizedStepMs },
    // Source: `local_pending_block` and `local_pending_state` of base/base, which answer as for `latest`.
    pendingIs: mode === 'fastBlocks' ? ('latest' as const) : ('building' as const),
    countsPool: rules !== 'base' || mode === 'fastBlocks',
    hasTimestampMs: timestampMs,
    statesKept: settings.historyBlocks * settings.flashblocksPerBlock,
  }
}

function poolOf({ rpc, settings, clock }: NodeOptions, foreign: Foreign): Pool {
  const { rules, chainId, gasLimit, poolMax, seed } = settings
  const signForeign = foreign.sign
  if (rules === 'anvil') return createAnvilPool({ rpc, signForeign })
  if (rules === 'base') {
    const chain = { chainId, gasLimit, tipWeiMin: 0n }
    const book = createBaseBook({ rules: BASE_RULES, chain, countMax: poolMax })
    return createRulesPool({ rpc, book, signForeign })
  }
  // Minimum tip: geth's `--txpool.pricelimit`.
  const chain = { chainId, gasLimit, tipWeiMin: 1n }
  const book = createGethBook({ chain, globalSlots: poolMax, clock })
  return createRulesPool({ rpc, book, parallel: { clock, random: seededRandom(seed) }, signForeign })
}
