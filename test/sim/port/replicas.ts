import type { Hex } from 'viem'
import { denialOf } from '../../../src/chain/endpoints/budgetedPort.js'
import type { Clock } from '../../../src/platform/clock.js'
import type { EndpointRole, Port, RpcCall, RpcReply } from '../../../src/rpc/port.js'
import type { View } from '../chain/block.js'
import type { SimChain } from '../chain/simChain.js'
import type { PortPlan } from '../portPlan.js'
import { deriveRandom } from '../random.js'
import { type Faults, NO_FAULTS } from './faults.js'
import { lie, stray } from './lies.js'
import { createSimPort } from './simPort.js'
import { strikeOf } from './timedFault.js'
import { createUntruth } from './untrue.js'

/** The request budget of a sender spares an objecting endpoint for about this time. */
const OBJECTED_MS = 30_000

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
  readonly onRaw: (raw: Hex, role: EndpointRole, port: string) => void
  readonly onAnswer: OnAnswer | undefined
}): Replicas {
  const { seed, plans, faultyStart, chain, clock, strike, onRaw, onAnswer } = options
  const beganMs = clock.now()
  let brokenMs = beganMs
  let healed = !faultyStart
  const unanswered = new Set<Promise<unknown>>()
  let objectedMs = Number.NEGATIVE_INFINITY
  const states = plans.map((plan) => ({
    plan,
    faults: { ...(healed ? NO_FAULTS : plan.faults) },
    frozenMs: undefined as number | undefined,
    untruth: createUntruth({
      chain,
      faults: plan.timed,
      nowMs: () => clock.now() - brokenMs,
      onFault: (fault) => strike(strikeOf(fault)),
    }),
  }))
  const set = (faultsOf: (plan: PortPlan) => Readonly<Faults>) => {
    for (const { plan, faults } of states) Object.assign(faults, faultsOf(plan))
  }
  function lagOf({ plan, frozenMs }: (typeof states)[number]): number {
    if (healed) return 0
    if (plan.lagMs > 0) strike('lag')
    return Math.max(plan.lagMs, frozenMs === undefined ? 0 : clock.now() - frozenMs)
  }

  function untrue(
    { plan, untruth }: (typeof states)[number],
    call: RpcCall,
    view: () => View,
  ): RpcReply | undefined {
    if (healed) return undefined
    const { lies, stray: away, timed } = plan
    if (lies) strike('lies')
    const now = clock.now() - beganMs
    const isAway = away !== undefined && now >= away.fromMs && now < away.toMs
    if (isAway) strike('stray')
    const untrueReply = isAway ? stray(call) : lies ? lie(call) : undefined
    return untrueReply ?? (timed.length === 0 ? undefined : untruth.answer(call, view()))
  }

  function follow(answer: Promise<unknown>): void {
    if (healed) return
    unanswered.add(answer)
    void answer.then(() => unanswered.delete(answer))
  }

  function portOf(state: (typeof states)[number], index: number): Port {
    const { plan, faults } = state
    const name = `sim-${index}`
    return createSimPort(chain, {
      clock,
      random: deriveRandom(seed, `port ${index}`),
      faults,
      name,
      latencyMs: plan.latencyMs,
      lagMs: () => lagOf(state),
      forbidden: new Set(plan.forbidden),
      prunedBlocks: plan.prunedBlocks,
      tags: plan.tags,
      sideBySide: true,
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
      set((plan) => plan.faults)
    },
    heal() {
      healed = true
      set(() => NO_FAULTS)
    },
    freeze(index, forMs) {
      const state = states[index]
      if (state === undefined || state.frozenMs !== undefined) return
      state.frozenMs = clock.now()
      clock.setTimer(() => {
        state.frozenMs = undefined
      }, forMs)
    },
  }
}
