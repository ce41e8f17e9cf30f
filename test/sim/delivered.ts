import type { Hash, Hex } from 'viem'
import type { SimBlock } from './chain/block.js'
import type { SimChain } from './chain/simChain.js'
import type { Disturbance } from './disturbances.js'
import { GAS, type Item } from './items.js'
import type { Violation } from './oracle.js'
import { LANE } from './outside.js'
import type { Plan } from './plan.js'
import { decodeTransaction } from './transaction.js'
import type { VirtualClock } from './virtualClock.js'

/** Measures how the lane's bytes reach the nodes while nothing is lost. */
export type DeliveryMeter = {
  /** Called when the bytes are sent to an endpoint. */
  sent(port: string, raw: Hex): void
  /** Nothing is lost from now on, and all earlier requests have ended. */
  start(): void
  stop(): void
  violations(): readonly Violation[]
}

const LOOK_MS = 50
/** The time until a node has the bytes that it lacked in the broken world. */
const ROUND_TRIPS_MAX = 60
const ROUND_TRIP_MS_MIN = 100
/**
 * Extra copies because of wrong guesses. If no count shows the pool, blocks without the transaction are taken
 * for a loss. So is a count without it, which may lag behind the answer. A healed world may also conclude
 * wrongly from the broken one.
 */
const GUESSED = 1
/** Two pauses, of two and of four blocks, fit into the time in which a slower chain has one. */
const GUESSED_FAST = 2
/**
 * An endpoint that objected gets only a few calls a second for a while, and its missing bytes are detected
 * by dozens of calls.
 */
export const SPARING_MS = 10_000
/** On a chain with several blocks a second, the calls that it does get first read the blocks that were missed. */
const SEVERAL_BLOCKS_MS = 1_000
const FAST_FACTOR = 2
/**
 * The silent blocks after which the lane resends following earlier losses. It may not have learnt yet that an
 * endpoint counts its pool.
 */
const SILENT_BLOCKS = 4

/**
 * Nodes refuse transactions after some of these, and after others no process owns the lane for a while:
 * neither is a loss.
 */
const NO_LOSS: ReadonlySet<Disturbance['kind']> = new Set<Disturbance['kind']>([
  'crash',
  'stop',
  'starve',
  'strand',
  'delegate',
  'creates',
  'submit',
  'tipFloor',
  'spike',
  'pressure',
])

/**
 * In a world without losses, an endpoint that counts its pool gets each transaction once. In a healed world
 * it gets at most two copies of bytes that its node has, three on a chain with several blocks a second, and the node lacks nothing for longer than some
 * round trips.
 */
export function createDeliveryMeter(options: {
  readonly plan: Plan
  readonly calm: boolean
  readonly chain: SimChain
  readonly clock: VirtualClock
  /** True if an endpoint recently reported too many requests. */
  readonly objected: () => boolean
}): DeliveryMeter {
  const { plan, calm, chain, clock, objected } = options
  const copies = new Map<string, number>()
  const nonces = new Set<number>()
  const isJudged = isTakenWhole(plan)
  const isFast = plan.blockTimeMs < SEVERAL_BLOCKS_MS
  const roundTripMs = Math.max(ROUND_TRIP_MS_MIN, ...plan.ports.map(({ latencyMs }) => 2 * latencyMs.max))
  let isOn = false
  let missingSinceMs: number | undefined
  let missingMs = 0
  let sparingMs = 0
  let cancel = () => {}

  function look(): void {
    cancel = clock.setQuietTimer(look, LOOK_MS)
    if (![...nonces].some(isMissing)) missingSinceMs = undefined
    else {
      missingSinceMs ??= clock.now()
      missingMs = Math.max(missingMs, clock.now() - missingSinceMs)
    }
  }

  const isMissing = (nonce: number) =>
    nonce >= chain.nextNonce(LANE) && chain.pool.get(LANE, nonce) === undefined

  function isHeld(hash: Hash): boolean {
    if (chain.pool.has(hash)) return true
    for (let block: SimBlock | undefined = chain.head; block !== undefined; block = block.parent) {
      if (block.executed.some(({ tx }) => tx.hash === hash)) return true
    }
    return false
  }

  return {
    sent(port, raw) {
      const tx = isJudged ? decodeTransaction(raw) : undefined
      if (tx?.from !== LANE) return
      nonces.add(tx.nonce)
      if (!isOn || (!calm && !isHeld(tx.hash))) return
      const key = `${port} ${tx.hash}`
      copies.set(key, (copies.get(key) ?? 0) + 1)
    },
    start() {
      if (isOn || !isJudged) return
      isOn = true
      sparingMs = objected() ? SPARING_MS * (isFast ? FAST_FACTOR : 1) : 0
      look()
    },
    stop() {
      isOn = false
      cancel()
    },
    violations() {
      const isSure = calm && chain.settings.pending === 'mempool' && chain.pool.lags === 0
      const copiesMax = isSure ? 1 : 1 + (isFast ? GUESSED_FAST : GUESSED)
      const missingMsMax = ROUND_TRIPS_MAX * roundTripMs + SILENT_BLOCKS * plan.blockTimeMs + sparingMs
      const found = [...copies]
        .filter(([, count]) => count > copiesMax)
        .map(([what, count]): Violation => ({ promise: 'delivery', text: `${what} was sent ${count} times` }))
      if (missingMs <= missingMsMax) return found
      const text = `a pool lacked sent bytes for ${missingMs} ms, at a round trip of ${roundTripMs} ms`
      return [...found, { promise: 'delivery', text }]
    },
  }
}

/** True if in this world no node refuses, no pool drops and no endpoint invents anything. */
function isTakenWhole({ items, pool, ports, neighbour, disturbances }: Plan): boolean {
  return (
    !ports.some(({ lies, stray }) => lies || stray) &&
    items.every(isTaken) &&
    Object.keys(pool).every((option) => option === 'tracksLocals') &&
    neighbour === undefined &&
    !disturbances.some(({ kind }) => NO_LOSS.has(kind))
  )
}

function isTaken({ outside, oversized, authorize, gas }: Item): boolean {
  return outside === undefined && !oversized && !authorize && (gas === undefined || gas === GAS)
}
