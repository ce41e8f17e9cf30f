import type { Hex } from 'viem'
import { denialOf } from '../../../src/chain/endpoints/budgetedPort.js'
import type { Clock } from '../../../src/platform/clock.js'
import type { EndpointRole, Port, RpcCall, RpcReply } from '../../../src/rpc/port.js'
import type { View } from '../chain/block.js'
import type { SimChain } from '../chain/simChain.js'
import { accountIn } from '../chain/state.js'
import type { Count } from '../coverage.js'
import type { PortPlan } from '../portPlan.js'
import { deriveRandom } from '../random.js'
import { NO_PUSH_FAULTS, NO_SYNC_FAULTS, type PushPlan } from '../socketPlan.js'
import { answer } from './answer.js'
import { NO_FAULTS } from './faults.js'
import { createHeads, type Heads } from './heads.js'
import { lie, stray } from './lies.js'
import { createSimPort } from './simPort.js'
import { createSyncSends, type SyncSends } from './syncSends.js'
import { strikeOf } from './timedFault.js'
import { createUntruth } from './untrue.js'
import { wireBlock } from './wire.js'

/** The request budget of a sender spares an objecting endpoint for about this time. */
const OBJECTED_MS = 30_000
const NEWEST: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** Called with every request and its answers. */
export type OnAnswer = (
  port: string,
  calls: readonly RpcCall[],
  replies: readonly RpcReply[],
  askedMs: number,
) => void

/** The endpoints of a world, with their faults. */
export type Replicas = {
  readonly list: readonly { readonly port: Port; readonly role: EndpointRole }[]
  readonly healed: boolean
  /** Requests of the broken world that are still without an answer. */
  readonly unanswered: number
  /** True if an endpoint recently reported too many requests. A sender that complies notices events later. */
  readonly objected: boolean
  break(): void
  /** Ends all faults. */
  heal(): void
  /** One of them stops following the chain for a while. */
  freeze(index: number, forMs: number): void
}

export function createReplicas(options: {
  readonly seed: number
  readonly plans: readonly PortPlan[]
  readonly faultyStart: boolean
  readonly chain: SimChain
  readonly clock: Clock
  readonly strike: (fault: string) => void
  readonly count: Count
  readonly onRaw: (raw: Hex, role: EndpointRole, port: string) => void
  readonly onAnswer: OnAnswer | undefined
}): Replicas {
  const { seed, plans, faultyStart, chain, clock, strike, count, onRaw, onAnswer } = options
  const beganMs = clock.now()
  let brokenMs = beganMs
  let healed = !faultyStart
  const changes: (() => void)[] = []
  const sockets: { readonly heads: Heads; readonly drops: PushPlan['drops'] }[] = []
  const unanswered = new Set<Promise<unknown>>()
  let objectedMs = Number.NEGATIVE_INFINITY
  const states = plans.map((plan) => ({
    plan,
    faults: { ...(healed ? NO_FAULTS : plan.faults) },
    pushFaults: { ...((!healed && plan.push?.faults) || NO_PUSH_FAULTS) },
    syncFaults: { ...((!healed && plan.syncSends?.faults) || NO_SYNC_FAULTS) },
    frozenMs: undefined as number | undefined,
    untruth: createUntruth({
      chain,
      faults: plan.timed,
      nowMs: () => clock.now() - brokenMs,
      onFault: (fault) => strike(strikeOf(fault)),
    }),
  }))
  const set = (isBroken: boolean) => {
    for (const { plan, faults, pushFaults, syncFaults } of states) {
      Object.assign(faults, isBroken ? plan.faults : NO_FAULTS)
      Object.assign(pushFaults, isBroken ? plan.push?.faults : NO_PUSH_FAULTS)
      Object.assign(syncFaults, isBroken ? plan.syncSends?.faults : NO_SYNC_FAULTS)
    }
  }
  function lagOf({ plan, frozenMs }: State): number {
    if (healed) return 0
    return Math.max(plan.lagMs, frozenMs === undefined ? 0 : clock.now() - frozenMs)
  }

  type State = (typeof states)[number]

  /** The answer of an endpoint that lies, or is on another chain. */
  function invention({ plan: { lies, stray: away } }: State, call: RpcCall): RpcReply | undefined {
    if (healed) return undefined
    if (lies) strike('lies')
    const now = clock.now() - beganMs
    const isAway = away !== undefined && now >= away.fromMs && now < away.toMs
    if (isAway) strike('stray')
    return isAway ? stray(call) : lies ? lie(call) : undefined
  }

  function untrue(state: State, call: RpcCall, view: () => View): RpcReply | undefined {
    if (healed) return undefined
    const { plan, untruth } = state
    return invention(state, call) ?? (plan.timed.length === 0 ? undefined : untruth.answer(call, view()))
  }

  function follow(answer: Promise<unknown>): void {
    if (healed) return
    unanswered.add(answer)
    void answer.then(() => unanswered.delete(answer))
  }

  function headsOf(state: State, index: number): Heads | undefined {
    const { plan, pushFaults: faults } = state
    const { push, latencyMs } = plan
    if (push === undefined) return undefined
    const random = deriveRandom(seed, `heads ${index}`)
    return createHeads({
      clock,
      random,
      faults,
      head: () => chain.view(push.isAhead ? 0 : lagOf(state)).head,
      headerOf(block) {
        const invented = invention(state, NEWEST)
        return invented?.ok ? invented.result : wireBlock(block, false, chain.settings)
      },
      latencyMs: () => latencyMs.min + random() * (latencyMs.max - latencyMs.min),
      silentAfter: () => (healed ? undefined : push.silentAfter),
      count,
    })
  }

  function syncSendsOf(state: State, index: number): SyncSends | undefined {
    const { plan, syncFaults: faults } = state
    if (plan.syncSends === undefined) return undefined
    const viewOf = () => chain.view(lagOf(state))
    return createSyncSends({
      clock,
      random: deriveRandom(seed, `sync sends ${index}`),
      rules: chain.settings.rules,
      form: plan.syncSends.form,
      faults,
      receiptOf(hash) {
        const reply = answer(chain, viewOf(), { method: 'eth_getTransactionReceipt', params: [hash] })
        return reply.ok ? reply.result : null
      },
      nextNonce: (from) => chain.pool.nextNonce(from, accountIn(chain.head.state, from).nonce),
      count,
    })
  }

  /** The node shows something new, at once or after its lag. */
  function changed(state: State, shown: () => void): void {
    const lagMs = lagOf(state)
    if (lagMs === 0 || state.plan.push?.isAhead) shown()
    if (lagMs > 0) clock.setTimer(shown, lagMs)
  }

  function portOf(state: State, index: number): Port {
    const { plan, faults } = state
    const name = `sim-${index}`
    const heads = headsOf(state, index)
    const syncSends = syncSendsOf(state, index)
    if (heads !== undefined || syncSends !== undefined) {
      const shown = () => {
        heads?.shown()
        syncSends?.shown()
      }
      chain.watch(() => changed(state, shown))
      changes.push(shown)
    }
    if (heads !== undefined) sockets.push({ heads, drops: plan.push?.drops ?? [] })
    return createSimPort(chain, {
      clock,
      random: deriveRandom(seed, `port ${index}`),
      faults,
      name,
      latencyMs: plan.latencyMs,
      lagMs() {
        if (!healed && plan.lagMs > 0) strike('lag')
        return lagOf(state)
      },
      forbidden: new Set(plan.forbidden),
      prunedBlocks: plan.prunedBlocks,
      tags: plan.tags,
      sideBySide: true,
      heads,
      syncSends,
      strike,
      untrue: (call, view) => untrue(state, call, view),
      onRaw: (raw) => onRaw(raw, plan.role, name),
      onAsked: follow,
      onAnswer(calls, replies, askedMs) {
        if (denialOf(replies) !== undefined) objectedMs = clock.now()
        onAnswer?.(name, calls, replies, askedMs)
      },
    })
  }

  return {
    list: states.map((state, index) => ({ role: state.plan.role, port: portOf(state, index) })),
    get healed() {
      return healed
    },
    get unanswered() {
      return unanswered.size
    },
    get objected() {
      return clock.now() - objectedMs < OBJECTED_MS
    },
    break() {
      healed = false
      brokenMs = clock.now()
      set(true)
      for (const { heads, drops } of sockets)
        for (const { atMs, forMs } of drops) clock.setTimer(() => healed || heads.drop(forMs), atMs)
    },
    heal() {
      healed = true
      set(false)
      for (const { heads } of sockets) heads.up()
      for (const shown of changes) shown()
    },
    freeze(index, forMs) {
      const state = states[index]
      if (state === undefined || state.frozenMs !== undefined) return
      state.frozenMs = clock.now()
      clock.setTimer(() => {
        state.frozenMs = undefined
        for (const shown of changes) shown()
      }, forMs)
    },
  }
}
