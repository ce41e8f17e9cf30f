import type { Clock } from '../../../src/platform/clock.js'
import type { SimChain } from '../chain/simChain.js'
import { accountIn } from '../chain/state.js'
import type { Count } from '../coverage.js'
import type { PortPlan } from '../portPlan.js'
import { deriveRandom } from '../random.js'
import { NO_PUSH_FAULTS, NO_SYNC_FAULTS } from '../socketPlan.js'
import { answer } from './answer.js'
import { createHeads, type Heads } from './heads.js'
import { createSyncSends, type SyncSends } from './syncSends.js'
import { wireBlock } from './wire.js'

/** The actions of an endpoint on its own: it announces heads, and answers sync sends once there is a receipt. */
export type SocketSide = {
  readonly heads: Heads | undefined
  readonly syncSends: SyncSends | undefined
  /** The faults begin. */
  break(): void
  /** The faults end. */
  heal(): void
  /** The endpoint may show something new. */
  shown(): void
}

type SocketOptions = {
  readonly seed: number
  readonly index: number
  readonly plan: PortPlan
  /** The faults begin at once. */
  readonly isBroken: boolean
  readonly chain: SimChain
  readonly clock: Clock
  /** The present lag of the endpoint. */
  readonly lagMs: () => number
  /** The head that it invents now; undefined if it is honest. */
  readonly inventedHead: () => unknown
  readonly count: Count
}

export function createSocketSide(options: SocketOptions): SocketSide {
  const { plan, chain, clock, lagMs } = options
  const { push } = plan
  const pushFaults = { ...NO_PUSH_FAULTS }
  const syncFaults = { ...NO_SYNC_FAULTS }
  let broken = false
  set(options.isBroken)
  const heads = headsOf(options, pushFaults, () => broken)
  const syncSends = syncSendsOf(options, syncFaults)

  function set(isBroken: boolean): void {
    broken = isBroken
    Object.assign(pushFaults, isBroken ? push?.faults : NO_PUSH_FAULTS)
    Object.assign(syncFaults, isBroken ? plan.syncSends?.faults : NO_SYNC_FAULTS)
  }

  function shown(): void {
    heads?.shown()
    syncSends?.shown()
  }

  if (heads !== undefined || syncSends !== undefined)
    chain.watch(() => {
      const laterMs = lagMs()
      if (laterMs === 0 || push?.isAhead) shown()
      if (laterMs > 0) clock.setTimer(shown, laterMs)
    })

  return {
    heads,
    syncSends,
    break() {
      set(true)
      for (const { atMs, forMs } of push?.drops ?? [])
        clock.setTimer(() => broken && heads?.drop(forMs), atMs)
    },
    heal() {
      set(false)
      heads?.up()
      shown()
    },
    shown,
  }
}

function headsOf(
  { seed, index, plan, chain, clock, lagMs, inventedHead, count }: SocketOptions,
  faults: Parameters<typeof createHeads>[0]['faults'],
  isBroken: () => boolean,
): Heads | undefined {
  const { push, latencyMs } = plan
  if (push === undefined) return undefined
  const random = deriveRandom(seed, `heads ${index}`)
  return createHeads({
    clock,
    random,
    faults,
    head: () => chain.view(push.isAhead ? 0 : lagMs()).head,
    headerOf: (block) => inventedHead() ?? wireBlock(block, false, chain.settings),
    latencyMs: () => latencyMs.min + random() * (latencyMs.max - latencyMs.min),
    silentAfter: () => (isBroken() ? push.silentAfter : undefined),
    count,
  })
}

function syncSendsOf(
  { seed, index, plan, chain, clock, lagMs, count }: SocketOptions,
  faults: Parameters<typeof createSyncSends>[0]['faults'],
): SyncSends | undefined {
  if (plan.syncSends === undefined) return undefined
  return createSyncSends({
    clock,
    random: deriveRandom(seed, `sync sends ${index}`),
    rules: chain.settings.rules,
    form: plan.syncSends.form,
    faults,
    receiptOf(hash) {
      const reply = answer(chain, chain.view(lagMs()), {
        method: 'eth_getTransactionReceipt',
        params: [hash],
      })
      return reply.ok ? reply.result : null
    },
    nextNonce: (from) => chain.pool.nextNonce(from, accountIn(chain.head.state, from).nonce),
    count,
  })
}
