import type { Hex } from 'viem'
import { denialOf } from '../../../src/chain/endpoints/budgetedPort.js'
import type { Clock } from '../../../src/platform/clock.js'
import type { EndpointRole, Port, RpcCall, RpcReply } from '../../../src/rpc/port.js'
import type { View } from '../chain/block.js'
import type { SimChain } from '../chain/simChain.js'
import type { Count } from '../coverage.js'
import type { PortPlan } from '../portPlan.js'
import { deriveRandom } from '../random.js'
import { type Faults, NO_FAULTS } from './faults.js'
import { lie, stray } from './lies.js'
import { createSimPort } from './simPort.js'
import { createSocketSide, type SocketSide } from './sockets.js'
import { type NamedFault, strikeOf } from './timedFault.js'
import { createUntruth } from './untrue.js'

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
  const { seed, plans, faultyStart, chain, clock, strike, onRaw, onAnswer } = options
  const beganMs = clock.now()
  let brokenMs = beganMs
  let healed = !faultyStart
  const sockets: SocketSide[] = []
  const unanswered = new Set<Promise<unknown>>()
  let objectedMs = Number.NEGATIVE_INFINITY
  const states = plans.map((plan) =>
    stateOf(plan, { chain, strike, isBroken: !healed, nowMs: () => clock.now() - brokenMs }),
  )
  const set = (faultsOf: (plan: PortPlan) => Readonly<Faults>) => {
    for (const { plan, faults } of states) Object.assign(faults, faultsOf(plan))
  }
  function lagOf({ plan, frozenMs }: State): number {
    if (healed) return 0
    return Math.max(plan.lagMs, frozenMs === undefined ? 0 : clock.now() - frozenMs)
  }

  function invention({ plan }: State, call: RpcCall): RpcReply | undefined {
    return healed ? undefined : inventedReply(plan, call, clock.now() - beganMs, strike)
  }

  function untrue(state: State, call: RpcCall, view: () => View): RpcReply | undefined {
    const isTimed = !healed && state.plan.timed.length > 0
    return invention(state, call) ?? (isTimed ? state.untruth.answer(call, view()) : undefined)
  }

  function follow(answer: Promise<unknown>): void {
    if (healed) return
    unanswered.add(answer)
    void answer.then(() => unanswered.delete(answer))
  }

  function socketOf(state: State, index: number): SocketSide {
    const lagMs = () => lagOf(state)
    const inventedHead = () => resultOf(invention(state, NEWEST))
    const { plan } = state
    return createSocketSide({ ...options, index, plan, isBroken: !healed, lagMs, inventedHead })
  }

  function portOf(state: State, index: number): Port {
    const { plan, faults } = state
    const socket = socketOf(state, index)
    sockets.push(socket)
    const name = `sim-${index}`
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
      heads: socket.heads,
      syncSends: socket.syncSends,
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
      for (const socket of sockets) socket.break()
    },
    heal() {
      healed = true
      set(() => NO_FAULTS)
      for (const socket of sockets) socket.heal()
    },
    freeze(index, forMs) {
      const state = states[index]
      if (state === undefined || state.frozenMs !== undefined) return
      state.frozenMs = clock.now()
      clock.setTimer(() => {
        state.frozenMs = undefined
        sockets[index]?.shown()
      }, forMs)
    },
  }
}

type State = ReturnType<typeof stateOf>

function stateOf(
  plan: PortPlan,
  world: {
    readonly chain: SimChain
    readonly strike: (fault: string) => void
    readonly isBroken: boolean
    /** Milliseconds since the faults began. */
    readonly nowMs: () => number
  },
) {
  const { chain, strike, isBroken, nowMs } = world
  const onFault = (fault: NamedFault) => strike(strikeOf(fault))
  return {
    plan,
    faults: { ...(isBroken ? plan.faults : NO_FAULTS) },
    frozenMs: undefined as number | undefined,
    untruth: createUntruth({ chain, faults: plan.timed, nowMs, onFault }),
  }
}

/** The answer of an endpoint that lies, or is on another chain. */
function inventedReply(
  { lies, stray: away }: PortPlan,
  call: RpcCall,
  nowMs: number,
  strike: (fault: string) => void,
): RpcReply | undefined {
  if (lies) strike('lies')
  const isAway = away !== undefined && nowMs >= away.fromMs && nowMs < away.toMs
  if (isAway) strike('stray')
  return isAway ? stray(call) : lies ? lie(call) : undefined
}

const resultOf = (reply: RpcReply | undefined): unknown => (reply?.ok ? reply.result : undefined)
