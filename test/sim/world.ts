import type { Hex } from 'viem'
import type { EndpointRole, Port, RpcCall, RpcReply } from '../../src/rpc/port.js'
import { createChain } from './chain/chain.js'
import type { SimChain } from './chain/simChain.js'
import { type DisturbanceTarget, disturb, healChain } from './disturbances.js'
import { type Census, judge, judgeGaps, takeCensus, type Violation } from './oracle.js'
import { drawPlan, type Plan, type PlanOptions } from './plan.js'
import { type Faults, NO_FAULTS } from './port/faults.js'
import { createSimPort } from './port/simPort.js'
import { chance, deriveRandom } from './random.js'
import { createStubAccount } from './stubAccount.js'
import type { CreateSubject } from './subjectTypes.js'
import { createVirtualClock, type VirtualClock } from './virtualClock.js'
import { createWorkload, type Workload } from './workload.js'

export type WorldResult = {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly census: Census
  readonly transactions: number
  /** Virtual milliseconds from the heal until everything was told. */
  readonly healedInMs: number
  readonly requests: number
  readonly timers: number
  /** The same for every run of the same seed with the same code. */
  readonly digest: string
}

export type WorldOptions = PlanOptions & {
  /** How long the sender has, in virtual time, to finish once nothing goes wrong any more. @default 900_000 */
  readonly healMs?: number
  /** Sees every request of the subject with its answers. */
  readonly onAnswer?: (
    port: string,
    calls: readonly RpcCall[],
    replies: readonly RpcReply[],
    askedMs: number,
  ) => void
  /** Sees the chain as it is made, to look closer at a failing seed. */
  readonly onWorld?: (world: { plan: Plan; chain: SimChain; clock: VirtualClock; workload: Workload }) => void
}

const LANE = '0x00000000000000000000000000000000000000aa'
const ONE_ETHER = 10n ** 18n
// Longer than the longest request under way, and then a few blocks.
const AFTERMATH_MS = 20_000

/** Runs one world to its end: the plan of the seed, the heal, the drain, and a look at what is left. */
export async function runWorld(
  seed: number,
  createSubject: CreateSubject,
  options: WorldOptions = {},
): Promise<WorldResult> {
  const plan = drawPlan(seed, options)
  const clock = createVirtualClock()
  const chain = makeChain(plan, clock)
  const wire = new Set<Hex>()
  const ports = makePorts(plan, chain, clock, wire, options.onAnswer)
  const subject = createSubject({
    port: ports.list[0]?.port as Port,
    ports: ports.list,
    clock,
    random: deriveRandom(seed, 'subject'),
    account: makeAccount(plan, clock, () => ports.healed),
    chainId: chain.settings.chainId,
    lossDepth: plan.lossDepth,
    settings: chain.settings,
  })
  const workload = createWorkload(subject, clock)
  options.onWorld?.({ plan, chain, clock, workload })
  const target: DisturbanceTarget = { chain, clock, random: deriveRandom(seed, 'disturb'), lane: LANE }

  chain.start()
  const late: Violation[] = []
  if (!plan.faultyStart) late.push(...(await settled(clock, subject.ready(), 'ready', 60_000)))
  ports.break()
  for (const item of plan.items) workload.start(item)
  for (const each of plan.disturbances) clock.setTimer(() => disturb(target, each), each.atMs)
  await clock.advance(plan.durationMs)

  ports.heal()
  healChain(target)
  const healedAtMs = clock.now()
  const healMs = options.healMs ?? 900_000
  await clock.runUntil(() => workload.open.size === 0, healMs)
  for (const name of workload.open) late.push({ promise: 'P8', text: `${name} is still open` })
  const healedInMs = clock.now() - healedAtMs
  if (workload.open.size === 0) late.push(...(await settled(clock, subject.drain(), 'drain', healMs)))
  late.push(...(await settled(clock, workload.lastLook(), 'last look', healMs)))
  late.push(...judgeGaps(chain, LANE))
  late.push(...(await settled(clock, subject.close(), 'close', healMs)))
  await aftermath(chain, clock, wire)

  const census = takeCensus(chain, LANE)
  const violations = [
    ...late,
    ...workload.untyped.map((text): Violation => ({ promise: 'P8', text: `untyped error: ${text}` })),
    ...judge(census, workload.markers, workload.tellings),
  ]
  return {
    seed,
    violations,
    census,
    transactions: workload.markers.length,
    healedInMs,
    requests: ports.list.reduce((sum, { port }) => sum + port.stats.requests, 0),
    timers: clock.firedTimers,
    digest: `${chain.head.hash}/${clock.firedTimers}/${workload.tellings.map(({ how }) => how).join()}`,
  }
}

function makeChain(plan: Plan, clock: VirtualClock): SimChain {
  const { rules, blockTimeMs, pendingHash, baseFeeNoise, safeDepth, initialNonce, seed } = plan
  return createChain({
    clock,
    random: deriveRandom(seed, 'chain'),
    accounts: [{ address: LANE, nonce: initialNonce, balanceWei: ONE_ETHER }],
    rules,
    blockTimeMs,
    pendingHash,
    baseFeeNoise,
    safeDepth,
  })
}

type Ports = {
  readonly list: readonly { readonly port: Port; readonly role: EndpointRole }[]
  readonly healed: boolean
  break(): void
  heal(): void
}

function makePorts(
  plan: Plan,
  chain: SimChain,
  clock: VirtualClock,
  wire: Set<Hex>,
  onAnswer: WorldOptions['onAnswer'],
): Ports {
  let healed = !plan.faultyStart
  const states = plan.ports.map((port) => ({ port, faults: { ...(healed ? NO_FAULTS : port.faults) } }))
  const set = (faultsOf: (port: (typeof states)[number]['port']) => Readonly<Faults>) => {
    for (const { port, faults } of states) Object.assign(faults, faultsOf(port))
  }
  // A count that lies before anything is known cannot be told from the truth: it begins once the lane has.
  if (!healed) for (const { faults } of states) faults.poisonedCount = 0
  return {
    list: states.map(({ port, faults }, index) => ({
      role: port.role,
      port: createSimPort(chain, {
        clock,
        random: deriveRandom(plan.seed, `port ${index}`),
        faults,
        name: `sim-${index}`,
        latencyMs: port.latencyMs,
        lagMs: () => (healed ? 0 : port.lagMs),
        forbidden: new Set(port.forbidden),
        onRaw: (raw) => void wire.add(raw),
        ...(onAnswer === undefined
          ? {}
          : { onAnswer: (calls, replies, askedMs) => onAnswer(`sim-${index}`, calls, replies, askedMs) }),
      }),
    })),
    get healed() {
      return healed
    },
    break() {
      healed = false
      set((port) => (plan.faultyStart ? { ...port.faults, poisonedCount: 0 } : port.faults))
    },
    heal() {
      healed = true
      set(() => NO_FAULTS)
    },
  }
}

function makeAccount(plan: Plan, clock: VirtualClock, healed: () => boolean) {
  const random = deriveRandom(plan.seed, 'signer')
  const { failures, delayMsMax } = plan.signer
  return createStubAccount(LANE, {
    clock,
    delayMs: () => (delayMsMax === 0 ? 0 : random() * delayMsMax),
    fails: () => !healed() && chance(random, failures),
  })
}

/** Runs the clock until a promise of the subject settles; a violation where it does not, or rejects. */
async function settled(
  clock: VirtualClock,
  promise: Promise<unknown>,
  what: string,
  maxMs: number,
): Promise<Violation[]> {
  let state = 'is still open'
  const watched = promise.then(
    () => {
      state = ''
    },
    (error: unknown) => {
      state = `rejected: ${error instanceof Error ? error.message : String(error)}`
    },
  )
  await clock.runUntil(() => state !== 'is still open', maxMs)
  if (state !== 'is still open') await watched
  return state === '' ? [] : [{ promise: 'P8', text: `${what} ${state}` }]
}

/**
 * What is journaled may be sent by anyone, for ever (P2): after the sender is gone, requests that were under way
 * arrive, and somebody sends everything that was ever on the wire once more.
 */
async function aftermath(chain: SimChain, clock: VirtualClock, wire: ReadonlySet<Hex>): Promise<void> {
  await clock.advance(AFTERMATH_MS)
  for (const raw of wire) chain.submit(raw)
  await clock.advance(AFTERMATH_MS)
  chain.stop()
}
