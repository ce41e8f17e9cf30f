import type { RpcCall, RpcReply } from '../../src/rpc/port.js'
import type { SimChain } from '../sim/chain/simChain.js'
import { idOf } from '../sim/ids.js'
import { LANE } from '../sim/outside.js'
import { nameOfFault } from '../sim/port/timedFault.js'
import { programOf } from '../sim/program.js'
import { deriveRandom } from '../sim/random.js'
import { createSimStore, NO_STORE_FAULTS } from '../sim/simStore.js'
import { createStubAccount } from '../sim/stubAccount.js'
import { createVirtualClock, type VirtualClock } from '../sim/virtualClock.js'
import { createWorkload, type Workload } from '../sim/workload.js'
import { CHAIN_KINDS, type ChainKind, createOddChain, foreignOn } from './chainKinds.js'
import type { Fault } from './faults.js'
import { judgeWorld, type OddViolation } from './judge.js'
import { createLife, type Life } from './life.js'
import { createOddPort } from './oddPort.js'
import { type Plan, PROBE, payment, quietAt } from './plan.js'
import { createWatch, type Said, type Watch } from './watch.js'
import { createWire } from './wire.js'

export type OddResult = {
  readonly violations: readonly OddViolation[]
  readonly payments: number
  readonly requests: number
  /** The requests to each endpoint. */
  readonly asked: readonly { readonly requests: number; readonly calls: number }[]
  /** The number of sends to any endpoint. */
  readonly sends: number
  readonly timers: number
  /** From the end of the last fault until everything was done. */
  readonly recoveredInMs: number
  readonly said: readonly Said[]
  /** The payments in the order of the chain; undefined for a no-op. */
  readonly executed: readonly (number | undefined)[]
  /** The number of answers of each kind of fault. */
  readonly struck: ReadonlyMap<string, number>
}

export type OddOptions = {
  /** Called with each event and send of the world. */
  readonly onLine?: (line: string) => void
}

const READY_MS = 5_000
const LATE_MS = 120_000
const VERDICT_BLOCKS = 3
const OPERATOR_MS = 1_000
const CLOSE_MS = 120_000
const AFTERMATH_MS = 15_000

/** Runs one world to its end, and returns the broken rules. */
export async function runOddWorld(plan: Plan, { onLine }: OddOptions = {}): Promise<OddResult> {
  const kind: ChainKind = CHAIN_KINDS[plan.chain]
  const clock = createVirtualClock()
  const random = (part: string) => deriveRandom(plan.seed, part)
  const chain = await createOddChain({ kind, clock, random: random('chain'), nonce: plan.nonce })
  const beganMs = clock.now()
  const say = (text: string) => onLine?.(`${String(clock.now() - beganMs).padStart(7)} ${text}`)
  const wire = createWire(clock, say)
  const watch = createWatch(clock, (VERDICT_BLOCKS + kind.settledBlocks) * kind.blockTimeMs)
  const struck = new Map<string, number>()
  const account = createStubAccount(LANE)
  const store = createSimStore({ clock, random: random('store'), faults: NO_STORE_FAULTS, strike: () => {} })
  // Everything after the lane is ready is postponed by this time.
  const leadMs = plan.readyFirst ? READY_MS : 0
  const ports = Array.from({ length: plan.endpoints }, (_, index) =>
    createOddPort({
      name: `e${index}`,
      chain,
      clock,
      random: random(`port ${index}`),
      faults: plan.faults
        .filter(({ endpoint }) => endpoint === index)
        .map((fault) => ({ ...fault, fromMs: fault.fromMs + leadMs })),
      parallel: kind.parallel === true,
      onRaw: wire.sent,
      onFault(fault) {
        const name = nameOfFault(fault)
        struck.set(name, (struck.get(name) ?? 0) + 1)
      },
      onAnswer: onLine && ((asked, replies) => say(`e${index} ${inWords(asked, replies)}`)),
    }),
  )
  const life = createLife({
    clock,
    ports,
    account,
    openStore: store.open,
    kind,
    chainId: chain.settings.chainId,
    random: (number) => random(`sender ${number}`),
    watch: { ...watch, onEvent },
    crashed: () => workload.crashed(),
    restarted: (subject) => workload.restarted(subject),
  })
  const workload = createWorkload({
    clock,
    chainId: chain.settings.chainId,
    subject: life.current.subject,
    async post() {
      throw new Error('nothing goes past the sender in these worlds')
    },
  })

  function onEvent(event: string, payload: Payload): void {
    say(lineOf(event, payload))
    watch.onEvent(event, payload)
    // Only an operator can resolve a hold after a reset of the chain or after an unobserved transaction of
    // another wallet. Holds that answers of an endpoint caused must end by themselves.
    const real =
      plan.rewind !== undefined || (plan.foreign.length > 0 && String(payload.reason) === 'storeBehindChain')
    if (event === 'held' && real) clock.setTimer(() => life.current.sender.resume(), OPERATOR_MS)
  }

  if (plan.readyFirst) {
    const ready = life.current.subject.ready().catch(() => {})
    await clock.advance(READY_MS)
    void ready
  }
  schedule({ plan, clock, chain, life, watch, workload })
  await clock.advance(quietAt(plan))

  const healedMs = clock.now()
  workload.start(payment(PROBE, 0, { gas: 120_000n }))
  await clock.advance(1)
  const violations = await recovered(clock, workload, healedMs, allowanceMs(plan, kind))
  const recoveredInMs = clock.now() - healedMs
  const finished = workload.open.size === 0
  watch.look(undefined)
  violations.push(...(await within(clock, finished ? life.current.sender.drain() : undefined, 'drain')))
  const shown = await answerOf(clock, life.current.sender.snapshot())
  violations.push(...(await within(clock, workload.lastLook(), 'last look')))
  violations.push(...(await within(clock, life.current.sender.close(), 'close')))
  if (life.timersLeft > 0) violations.push({ rule: 'close', text: `${life.timersLeft} timers are left` })
  watch.stop()
  await clock.advance(AFTERMATH_MS)
  for (const raw of wire.raws) chain.submit(raw)
  await clock.advance(AFTERMATH_MS)
  chain.stop()
  return {
    violations: [
      ...violations,
      ...judgeWorld({
        plan,
        chain,
        watch,
        wire,
        shown,
        workload,
        finished,
        loads: ports.map(({ load }) => load),
        kept: life.kept,
      }),
    ],
    payments: plan.items.length,
    requests: ports.reduce((sum, { stats }) => sum + stats.requests, 0),
    asked: ports.map(({ load }) => ({ requests: sumOf(load.requests), calls: sumOf(load.calls) })),
    sends: wire.times,
    timers: clock.firedTimers,
    recoveredInMs,
    struck,
    said: watch.said,
    executed: chain.canonical.flatMap(({ executed }) => executed.map(({ tx }) => programOf(tx)?.marker)),
  }
}

type Payload = Readonly<Record<string, unknown>>

function lineOf(event: string, payload: Payload): string {
  const { tx, nonce, reason, error, change, name } = payload as Record<
    string,
    { id?: string; message?: string }
  >
  const words = [tx?.id, nonce, reason, error?.message, name, change].filter((each) => each !== undefined)
  return `${event} ${words.join(' ')}`
}

/** Sets the timers for all events of the plan. */
function schedule(world: {
  readonly plan: Plan
  readonly clock: VirtualClock
  readonly chain: SimChain
  readonly life: Life
  readonly watch: Watch
  readonly workload: Workload
}): void {
  const { plan, clock, chain, life, watch, workload } = world
  for (const item of plan.items) {
    clock.setTimer(() => watch.sent(idOf(item.marker)), item.atMs)
    workload.start(item)
  }
  for (const atMs of plan.foreign) clock.setTimer(() => chain.force(foreignOn(chain)), atMs)
  for (const { atMs, byMs } of plan.steps) clock.setTimer(() => clock.stepWall(byMs), atMs)
  const { restart, rewind } = plan
  if (rewind !== undefined)
    clock.setTimer(() => chain.rewind({ blocks: rewind.blocks, keepsPool: false }), rewind.atMs)
  if (restart !== undefined) clock.setTimer(() => life.restart(restart.downMs), restart.atMs)
}

/** Waits until the caller has every answer. Returns a violation if that is late, or never happens. */
async function recovered(
  clock: VirtualClock,
  { open }: Workload,
  healedMs: number,
  allowedMs: number,
): Promise<OddViolation[]> {
  if (await clock.runUntil(() => open.size === 0, allowedMs)) return []
  const names = [...open]
  await clock.runUntil(() => open.size === 0, LATE_MS)
  const still = new Set(open)
  if (still.size > 0) return [{ rule: 'back', text: `never: ${[...still].slice(0, 4).join(', ')}` }]
  const late = names.slice(0, 4).join(', ')
  return [{ rule: 'back', text: `late, after ${clock.now() - healedMs} ms: ${late}` }]
}

async function answerOf<T>(clock: VirtualClock, promise: Promise<T>): Promise<T | undefined> {
  let state: { value?: T } | undefined
  void promise.then(
    (value) => {
      state = { value }
    },
    () => {
      state = {}
    },
  )
  await clock.runUntil(() => state !== undefined, CLOSE_MS)
  return state?.value
}

async function within(
  clock: VirtualClock,
  promise: Promise<unknown> | undefined,
  what: string,
): Promise<OddViolation[]> {
  if (promise === undefined) return []
  let end: string | undefined = `${what} is still open`
  void promise.then(
    () => {
      end = undefined
    },
    (error: unknown) => {
      end = `${what} rejected: ${error instanceof Error ? error.message : error}`
    },
  )
  await clock.runUntil(() => end !== `${what} is still open`, CLOSE_MS)
  return end === undefined ? [] : [{ rule: 'back', text: end }]
}

/**
 * How long the lane may take to finish, once every endpoint is honest: three blocks, the depth of a verdict,
 * blocks for a small pool that accepts one batch at a time, and waits that the clock ends.
 */
function allowanceMs(plan: Plan, kind: ChainKind): number {
  const batches = kind.poolSlots === undefined ? 1 : Math.ceil(plan.items.length / kind.poolSlots)
  const patienceMs = kind.onDemand ? QUIET_MS : PATIENCE_MS
  const waitMs = plan.faults.some(asksForRest) ? REST_MS : patienceMs
  return kind.blockTimeMs * (3 + kind.settledBlocks + batches) + waitMs
}

/**
 * A pause of at most a minute, and the learnt rate limit of an endpoint, which rises for this long until all
 * waiting work fits in.
 */
const REST_MS = 100_000
/** A read that hangs ends after ten seconds. */
const PATIENCE_MS = 20_000
/** If no block comes, time replaces blocks: ten seconds each time. */
const QUIET_MS = 40_000

const LIMIT_EXCEEDED = -32_005

/** True if the fault reports too many requests. */
function asksForRest({ how }: Fault): boolean {
  return how.kind === 'tooMany' || (how.kind === 'refused' && how.code === LIMIT_EXCEEDED)
}

function sumOf(bySecond: ReadonlyMap<number, number>): number {
  return [...bySecond.values()].reduce((sum, count) => sum + count, 0)
}

function inWords(asked: readonly RpcCall[], replies: readonly RpcReply[]): string {
  return asked
    .map(({ method, params }, index) => {
      const reply = replies[index]
      const value = reply?.ok ? JSON.stringify(reply.result ?? null) : reply?.failure.message
      return `${method}(${JSON.stringify(params).slice(0, 120)}) = ${value?.slice(0, 160)}`
    })
    .join('\n          ')
}
