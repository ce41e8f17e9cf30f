import type { Address } from 'viem'
import type { Clock, Random } from '../../src/platform/clock.js'
import { CREATING, DELEGATED } from './chain/execute.js'
import type { SimChain } from './chain/simChain.js'
import { foreignTransaction, isNoop } from './foreign.js'
import { between, chance, pick } from './random.js'
import type { SimTransaction } from './transaction.js'

/** An event of the chain at a given time, apart from the faults of ports. */
export type Disturbance = { readonly atMs: number } & (
  | {
      readonly kind: 'reorg'
      readonly depth: number
      readonly dropRate: number
      readonly inclusion: number
      readonly foreign: boolean
    }
  | { readonly kind: 'evict'; readonly rate: number }
  /** Outlasts the heal: a pool that has mislaid a transaction does not find it by itself. */
  | { readonly kind: 'strand'; readonly rate: number }
  | { readonly kind: 'foreign'; readonly way: 'pool' | 'block' }
  | { readonly kind: 'bump'; readonly nonces: number }
  | { readonly kind: 'spike'; readonly factor: number; readonly blocks: number }
  | { readonly kind: 'starve'; readonly forMs: number }
  | { readonly kind: 'halt'; readonly forMs: number }
  | { readonly kind: 'loseFlashblocks'; readonly count: number; readonly keepRate: number }
  | { readonly kind: 'pressure'; readonly forMs: number }
  /** A second wallet with the same key, which takes its nonces from the pending count. */
  | { readonly kind: 'wallet'; readonly count: number; readonly everyMs: number }
  | { readonly kind: 'delegate'; readonly forMs: number }
  /** The account is delegated to code that creates contracts, each of which uses a nonce. */
  | { readonly kind: 'creates'; readonly forMs: number }
  /** A stranger submits the account's signed authorizations as soon as their nonce is the next. */
  | { readonly kind: 'submit'; readonly forMs: number }
  /** A replica stops following the chain. */
  | { readonly kind: 'freeze'; readonly port: number; readonly forMs: number }
  /** A process is killed, and started again. */
  | { readonly kind: 'crash'; readonly process: number; readonly downMs: number }
  /** A process is stopped, and continues without noticing. */
  | { readonly kind: 'stop'; readonly process: number; readonly forMs: number }
  /** The wall clock of the machine steps forward or back: NTP, or a resumed virtual machine. */
  | { readonly kind: 'wallStep'; readonly byMs: number }
  /** Pools accept only tips from this multiple of the suggestion on, and the suggestion does not change. */
  | { readonly kind: 'tipFloor'; readonly factor: number; readonly forMs: number }
)

type WallStep = Extract<Disturbance, { readonly kind: 'wallStep' }>

export type DisturbanceLimits = {
  readonly durationMs: number
  readonly reorgDepthMax: number
  readonly flashblocks: boolean
  readonly ports: number
  readonly processes: number
}

const COUNT_MAX = 8

export function drawDisturbances(random: Random, limits: DisturbanceLimits): Disturbance[] {
  const count = pick(random, [0, 1, 3, COUNT_MAX])
  const drawn = Array.from({ length: count }, () => drawOne(random, limits))
  return drawn.sort((a, b) => a.atMs - b.atMs)
}

/**
 * The pool sometimes strands some of its transactions. Drawn separately, so that everything else stays the
 * same for a seed.
 */
export function drawStrandings(random: Random, durationMs: number): Disturbance[] {
  const count = chance(random, 0.15) ? between(random, 1, 2) : 0
  return Array.from({ length: count }, () => ({
    kind: 'strand',
    atMs: between(random, 100, durationMs - 1),
    rate: pick(random, [0.3, 1]),
  }))
}

const HOUR_MS = 3_600_000
const WALL_STEPS_MS = [500, 4_000, 15_000, HOUR_MS, 40 * 24 * HOUR_MS] as const

/** The wall clock steps, in some worlds. Drawn separately as well. */
export function drawWallSteps(random: Random, durationMs: number): WallStep[] {
  const count = chance(random, 0.25) ? between(random, 1, 3) : 0
  return Array.from({ length: count }, () => ({
    kind: 'wallStep',
    atMs: between(random, 100, durationMs - 1),
    byMs: pick(random, WALL_STEPS_MS) * pick(random, [1, -1]),
  }))
}

/** The lowest tip that pools accept rises, in some worlds. Drawn separately as well. */
export function drawTipFloors(random: Random, durationMs: number): Disturbance[] {
  if (!chance(random, 0.1)) return []
  const kind = 'tipFloor'
  const atMs = between(random, 100, durationMs - 1)
  // The last is above the highest tip that a lane pays.
  return [{ kind, atMs, factor: pick(random, [2, 3, 17, 1_000]), forMs: between(random, 1_000, durationMs) }]
}

/**
 * The endpoint that is read stands still on a branch that the chain leaves, shortly after a transaction was
 * sent. Drawn separately as well, for chains whose reorgs remove several blocks.
 */
export function drawStalls(
  random: Random,
  { sentAtMs, depth }: { readonly sentAtMs: readonly number[]; readonly depth: number },
): Disturbance[] {
  if (!chance(random, 0.3)) return []
  const atMs = pick(random, sentAtMs) + between(random, 300, 1_500)
  const reorg = {
    kind: 'reorg',
    atMs: atMs + between(random, 50, 1_000),
    depth,
    dropRate: pick(random, [0, 1]),
    inclusion: pick(random, [0, 0.5]),
    foreign: false,
  } as const
  return [{ kind: 'freeze', atMs, port: 0, forMs: between(random, 2_500, 6_000) }, reorg]
}

// The repetitions are weights.
const KINDS = [
  'reorg',
  'reorg',
  'evict',
  'evict',
  'foreign',
  'foreign',
  'bump',
  'spike',
  'starve',
  'halt',
  'pressure',
  'wallet',
  'delegate',
  'creates',
  'submit',
  'freeze',
  'crash',
  'crash',
  'stop',
] as const satisfies readonly Exclude<Disturbance['kind'], 'strand' | 'wallStep' | 'tipFloor'>[]

function drawOne(random: Random, limits: DisturbanceLimits): Disturbance {
  const { durationMs, reorgDepthMax, flashblocks, ports, processes } = limits
  const atMs = between(random, 100, durationMs - 1)
  const forMs = between(random, 1_000, Math.floor(durationMs / 4))
  const kind = pick(random, [...KINDS, ...(flashblocks ? (['loseFlashblocks'] as const) : [])] as const)
  switch (kind) {
    case 'reorg':
      return {
        kind,
        atMs,
        depth: between(random, 1, reorgDepthMax),
        dropRate: pick(random, [0, 0.3, 1]),
        inclusion: pick(random, [0, 0.5, 1]),
        foreign: chance(random, 0.3),
      }
    case 'evict':
      return { kind, atMs, rate: pick(random, [0.2, 1]) }
    case 'foreign':
      return { kind, atMs, way: pick(random, ['pool', 'block']) }
    case 'bump':
      return { kind, atMs, nonces: between(random, 1, 2) }
    case 'spike':
      return { kind, atMs, factor: between(random, 2, 12), blocks: between(random, 1, 8) }
    case 'loseFlashblocks':
      return { kind, atMs, count: between(random, 1, 5), keepRate: pick(random, [0, 0.5, 1]) }
    case 'wallet':
      return { kind, atMs, count: between(random, 1, 4), everyMs: pick(random, [50, 500, 3_000]) }
    case 'freeze':
      return { kind, atMs, port: between(random, 0, ports - 1), forMs }
    case 'crash':
      return {
        kind,
        atMs,
        process: between(random, 0, processes - 1),
        downMs: pick(random, [1, 200, 3_000, forMs]),
      }
    case 'stop':
      return {
        kind,
        atMs,
        process: between(random, 0, processes - 1),
        forMs: pick(random, [500, forMs, 15_000]),
      }
    default:
      return { kind, atMs, forMs }
  }
}

export type DisturbanceTarget = {
  readonly chain: SimChain
  readonly clock: Clock
  readonly random: Random
  readonly lane: Address
  /** True if the lane itself signed it, so that the lane can replace it. */
  owns(tx: SimTransaction): boolean
  freeze(port: number, forMs: number): void
  crash(process: number, downMs: number): void
  stop(process: number, forMs: number): void
  stepWall(ms: number): void
  /** The newest blocks that a reorg may replace now, by what the world declares. */
  readonly reorgDepthNow: () => number
}

const ONE_ETHER = 10n ** 18n

/** Applies it now, on the present chain. */
export function disturb(target: DisturbanceTarget, disturbance: Disturbance): void {
  const { chain, clock, random, lane } = target
  switch (disturbance.kind) {
    case 'reorg': {
      const depth = Math.min(disturbance.depth, target.reorgDepthNow())
      if (depth < 1) return
      chain.reorg({
        depth,
        inclusion: disturbance.inclusion,
        drops: (tx) => tx.from === lane && chance(random, disturbance.dropRate),
        forced: disturbance.foreign ? [foreigner(target)] : [],
      })
      return
    }
    case 'evict':
      chain.pool.evict((tx) => tx.from === lane && chance(random, disturbance.rate))
      return
    case 'strand':
      chain.pool.strand((tx) => target.owns(tx) && chance(random, disturbance.rate))
      return
    case 'foreign':
      if (disturbance.way === 'block') chain.force(foreigner(target))
      else chain.submit(foreigner(target).make(chain.nextNonce(lane)).raw)
      return
    case 'bump':
      chain.adjust({ address: lane, nonces: disturbance.nonces })
      return
    case 'spike':
      chain.spikeBaseFee(chain.settings.baseFeeWei * BigInt(disturbance.factor), disturbance.blocks)
      return
    case 'starve':
      chain.adjust({
        address: lane,
        balanceWei: -chain.settings.accounts.reduce((sum, a) => sum + a.balanceWei, 0n),
      })
      clock.setTimer(() => chain.adjust({ address: lane, balanceWei: ONE_ETHER }), disturbance.forMs)
      return
    case 'halt':
      chain.setHalted(true)
      clock.setTimer(() => chain.setHalted(false), disturbance.forMs)
      return
    case 'loseFlashblocks':
      chain.loseFlashblocks(disturbance.count, () => chance(random, disturbance.keepRate))
      return
    case 'wallet':
      for (let index = 0; index < disturbance.count; index++)
        clock.setTimer(() => void walletSends(target), index * disturbance.everyMs)
      return
    case 'delegate':
    case 'creates':
      // Another account carries the account's authorizations: each of them uses a nonce (EIP-7702).
      chain.adjust({ address: lane, nonces: 1, code: disturbance.kind === 'creates' ? CREATING : DELEGATED })
      clock.setTimer(() => chain.adjust({ address: lane, nonces: 1, code: '0x' }), disturbance.forMs)
      if (disturbance.kind === 'creates')
        clock.setTimer(
          () => chain.adjust({ address: lane, nonces: 1, isTraceless: true }),
          disturbance.forMs / 2,
        )
      return
    case 'submit':
      for (let afterMs = 0; afterMs < disturbance.forMs; afterMs += SUBMIT_EVERY_MS)
        clock.setTimer(() => submitTuple(target), afterMs)
      return
    case 'freeze':
      target.freeze(disturbance.port, disturbance.forMs)
      return
    case 'crash':
      target.crash(disturbance.process, disturbance.downMs)
      return
    case 'stop':
      target.stop(disturbance.process, disturbance.forMs)
      return
    case 'wallStep':
      target.stepWall(disturbance.byMs)
      return
    case 'tipFloor':
      chain.pool.setTipMin(chain.settings.tipWei * BigInt(disturbance.factor))
      clock.setTimer(() => chain.pool.setTipMin(chain.settings.tipWeiMin), disturbance.forMs)
      return
    case 'pressure':
      chain.setPressure(true)
      clock.setTimer(() => chain.setPressure(false), disturbance.forMs)
      return
  }
}

const SUBMIT_EVERY_MS = 100

function submitTuple({ chain, lane }: DisturbanceTarget): void {
  if (chain.tuples.has(chain.nextNonce(lane))) chain.adjust({ address: lane, nonces: 1, code: DELEGATED })
}

/** A wallet that reads the pending count, pays the usual fees and does not wait. */
function walletSends({ chain, random, lane }: DisturbanceTarget): void {
  const { baseFeeWei, tipWei, chainId, pending } = chain.settings
  const next = chain.nextNonce(lane)
  const tx = foreignTransaction({
    chainId,
    from: lane,
    nonce: pending === 'mempool' ? chain.pool.nextNonce(lane, next) : next,
    maxFeeWei: baseFeeWei * 2n + tipWei,
    tipWei,
    salt: between(random, 1, 2 ** 31),
  })
  chain.submit(tx.raw)
}

/** A foreign transaction with the same key and high fees: it replaces ours, in a block or in the pool. */
function foreigner({ chain, random, lane }: DisturbanceTarget) {
  const feeWei = chain.settings.baseFeeWei * 50n
  const salt = between(random, 1, 2 ** 31)
  return {
    from: lane,
    make: (nonce: number) =>
      foreignTransaction({
        chainId: chain.settings.chainId,
        from: lane,
        nonce,
        maxFeeWei: feeWei,
        tipWei: feeWei,
        salt,
      }),
  }
}

/** Ends all faults of the chain. */
export function healChain({ chain, lane }: DisturbanceTarget): void {
  // A no-op is the lane's last attempt: there may be no fee left for another below its ceiling.
  chain.pool.unstrand(isNoop)
  chain.setHalted(false)
  chain.setPressure(false)
  chain.pool.setTipMin(chain.settings.tipWeiMin)
  chain.spikeBaseFee(0n, 0)
  const delegated = chain.head.state.code.get(lane)?.startsWith('0xef') === true
  chain.adjust({ address: lane, balanceWei: ONE_ETHER, ...(delegated ? { nonces: 1, code: '0x' } : {}) })
}
