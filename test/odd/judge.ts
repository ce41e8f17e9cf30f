import type { LaneSnapshot } from '../../src/types/index.js'
import type { SimChain } from '../sim/chain/simChain.js'
import { accountIn } from '../sim/chain/state.js'
import { isForeign, isNoop } from '../sim/foreign.js'
import { markerOf } from '../sim/ids.js'
import { judge, judgeGaps, takeCensus } from '../sim/oracle.js'
import { LANE } from '../sim/outside.js'
import { programOf } from '../sim/program.js'
import type { Journal } from '../sim/workload.js'
import type { Load } from './oddPort.js'
import { isOneHonest, type Plan } from './plan.js'
import type { Watch } from './watch.js'
import type { Wire } from './wire.js'

/** A rule that a world broke. */
export type OddViolation = {
  readonly rule:
    | 'once'
    | 'reported'
    | 'back'
    | 'dense'
    | 'bound'
    | 'load'
    | 'reason'
    | 'noop'
    | 'rebound'
    | 'honest'
    | 'alarm'
    | 'close'
  readonly text: string
}

/** The state of a world when it is over. */
export type Remains = {
  readonly plan: Plan
  readonly chain: SimChain
  readonly watch: Watch
  readonly wire: Wire
  /** The last snapshot, before the close. */
  readonly shown: LaneSnapshot | undefined
  readonly workload: Journal
  /** True if every promise of the caller had settled when the lane was closed. */
  readonly finished: boolean
  readonly loads: readonly Load[]
  /** The nonces of which the sender stored anything. */
  readonly kept: ReadonlySet<number>
}

// In addition, one for each payment, which requests its own estimate.
const REQUESTS_A_SECOND_MAX = 60
// A process that restarts requests for each payment the count, the body, the header and the receipt.
const EVIDENCE_REQUESTS = 4
const CALLS_A_SECOND_MAX = 600
// The maximum of events, sends and stored entries for one payment, and for the lane itself.
const EVENTS_EACH_MAX = 40
const EVENTS_MAX = 400
const SENDS_EACH_MAX = 40
const SENDS_MAX = 60
const SLOTS_MAX = 40
// The most that `pending` may count above `latest` at the start and be believed for a while: a range, without
// slots.
const SEED_SPAN_MAX = 1_024

/** Compares the state of a world with the rules. It knows nothing about how a sender works. */
export function judgeWorld(remains: Remains): OddViolation[] {
  const rules = [
    executions,
    dense,
    notExecutedAfterEnd,
    load,
    memory,
    reasons,
    paidForNobody,
    rebound,
    oneHonest,
    falseAlarms,
  ]
  return rules.flatMap((rule) => rule(remains))
}

/** Each payment ran once, or ended with a true report, as every caller was informed. */
function executions({ chain, workload, finished }: Remains): OddViolation[] {
  const reported = judge(takeCensus(chain, LANE), workload.markers, workload.reports)
  const untyped = workload.untyped.map(
    (text): OddViolation => ({ rule: 'reported', text: `untyped: ${text}` }),
  )
  return [
    ...untyped,
    // An open payment is reported once, by the promise that waits for it.
    ...reported
      .filter(({ promise }) => promise !== 'P8' || finished)
      .map(
        ({ text, marker, promise }): OddViolation => ({
          rule: text.includes('times') ? 'once' : promise === 'P8' ? 'back' : 'reported',
          text: `payment ${marker}: ${text}`,
        }),
      ),
  ]
}

/** No nonce is left empty, and the lane knows its position. */
function dense({ chain, shown }: Remains): OddViolation[] {
  const gaps = judgeGaps(chain, LANE).map(({ text }): OddViolation => ({ rule: 'dense', text }))
  if (shown === undefined) return [...gaps, { rule: 'back', text: 'the last snapshot has no answer' }]
  const next = accountIn(chain.head.state, LANE).nonce
  const wrong: OddViolation[] = []
  if (shown.holds.length > 0) wrong.push({ rule: 'back', text: `still held: ${shown.holds.join(', ')}` })
  if (shown.holder && (shown.cursor !== next || shown.holes.length > 0)) {
    const holes = shown.holes.length === 0 ? '' : `, with ${shown.holes.length} holes`
    wrong.push({ rule: 'dense', text: `the lane is at ${shown.cursor}${holes}, the account at ${next}` })
  }
  return [...gaps, ...wrong]
}

const ENDS: ReadonlySet<string> = new Set(['failed', 'cancelled', 'superseded'])

/** A payment whose end was reported by an event did not run. */
function notExecutedAfterEnd({ chain, watch }: Remains): OddViolation[] {
  const { executions } = takeCensus(chain, LANE)
  return watch.said.flatMap(({ event, id }): OddViolation[] => {
    const marker = id === undefined ? undefined : markerOf(id)
    if (!ENDS.has(event) || marker === undefined || !executions.has(marker)) return []
    return [{ rule: 'reported', text: `payment ${marker}: reported as ${event}, and executed` }]
  })
}

function load({ loads, plan }: Remains): OddViolation[] {
  const each = plan.restart === undefined ? 1 : 1 + EVIDENCE_REQUESTS
  const most = REQUESTS_A_SECOND_MAX + each * plan.items.length
  return loads.flatMap(({ requests, calls }, index) => [
    ...tooMany(requests, most, `requests to e${index}`),
    ...tooMany(calls, CALLS_A_SECOND_MAX, `calls to e${index}`),
  ])
}

function tooMany(counts: ReadonlyMap<number, number>, max: number, what: string): OddViolation[] {
  const [second, most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0])
  if (most <= max) return []
  const seconds = [...counts.values()].filter((count) => count > max).length
  return [
    { rule: 'load', text: `${most} ${what} in second ${second}, more than ${max} in ${seconds} seconds` },
  ]
}

/** Stored entries and actions are proportional to the payments, not to a number from a node. */
function memory({ plan, watch, wire, kept }: Remains): OddViolation[] {
  const payments = plan.items.length + 1
  const bounds = [
    ['events', watch.said.length, EVENTS_MAX + EVENTS_EACH_MAX * payments],
    ['bytes handed over', wire.times, SENDS_MAX + SENDS_EACH_MAX * payments],
    ['holes', watch.most.holes, SLOTS_MAX + 2 * payments],
    // A nonce that `pending` counted at the start gets a slot if it is used below a transaction of ours.
    ['kept nonces', kept.size, SEED_SPAN_MAX + SLOTS_MAX + 2 * payments],
    ['unfinished nonces', watch.most.inFlight, SEED_SPAN_MAX + SLOTS_MAX + 2 * payments],
  ] as const
  return bounds
    .filter(([, count, max]) => count > max)
    .map(([what, count, max]) => ({
      rule: 'bound',
      text: `${count} ${what} for ${payments} payments, more than ${max}`,
    }))
}

function reasons({ watch }: Remains): OddViolation[] {
  return watch.unexplained.slice(0, 2).map((text) => ({ rule: 'reason', text }))
}

/** A no-op is below a transaction that was sent or whose bytes exist, or in its place. */
function paidForNobody({ wire, chain, watch }: Remains): OddViolation[] {
  const sent = [...wire.first.values()]
  const foreign = chain.canonical.flatMap(({ executed }) => executed.filter(({ tx }) => isForeign(tx)))
  const signed = watch.said.filter(({ event }) => event === 'signed')
  const noops = sent.filter(({ tx }) => isNoop(tx))
  const needless = noops.filter(
    ({ tx, atMs }) =>
      !signed.some((one) => one.atMs <= atMs && (one.nonce ?? -1) >= tx.nonce) &&
      !sent.some((one) => one.marker !== undefined && one.atMs <= atMs && one.tx.nonce >= tx.nonce) &&
      !foreign.some((one) => one.tx.nonce >= tx.nonce),
  )
  if (needless.length === 0) return []
  const nonces = [...new Set(needless.map(({ tx }) => tx.nonce))]
  return [{ rule: 'noop', text: `no-ops for unused nonces: ${nonces.slice(0, 8).join(', ')}` }]
}

/**
 * If no other wallet has the key, no payment is ever signed for a second nonce. Transactions from before the
 * world took the nonces below its first one: a payment that a too low count assigned there moves on to a
 * free nonce.
 */
function rebound({ plan, wire, chain }: Remains): OddViolation[] {
  if (plan.foreign.length > 0) return []
  const nonces = new Map<number, Set<number>>()
  for (const { marker, tx } of wire.first.values()) {
    if (marker === undefined || tx.nonce < plan.nonce || isPruned(plan, chain, tx.nonce, marker)) continue
    const known = nonces.get(marker) ?? new Set()
    nonces.set(marker, known.add(tx.nonce))
  }
  return [...nonces]
    .filter(([, at]) => at.size > 1)
    .slice(0, 3)
    .map(([marker, at]) => ({ rule: 'rebound', text: `payment ${marker} was sent at ${[...at].join(', ')}` }))
}

/**
 * After a restart a store may hold nothing about nonces with final transactions, and cannot contradict a
 * count that is too low. True if such a transaction used this nonce.
 */
function isPruned({ restart }: Plan, chain: SimChain, nonce: number, marker: number): boolean {
  if (restart === undefined) return false
  const all = chain.canonical.flatMap(({ executed }) => executed)
  const used = all.find(({ tx }) => tx.from === LANE && tx.nonce === nonce)
  return used !== undefined && programOf(used.tx)?.marker !== marker
}

const ALARMS: ReadonlySet<string> = new Set(['held', 'foreign', 'displaced', 'unresolved', 'deepReorg'])

/** The hold of a lane that has just been opened and has not seen enough. */
const COLD_START = 'seeding'

/** If one of two endpoints never erred, nothing goes wrong, not even for a while. */
function oneHonest({ plan, watch, chain }: Remains): OddViolation[] {
  if (!isOneHonest(plan)) return []
  const foreign = new Set(
    chain.canonical.flatMap(({ executed }) =>
      executed.filter(({ tx }) => isForeign(tx) && tx.nonce >= plan.nonce).map(({ tx }) => tx.nonce),
    ),
  )
  const displaces = foreign.size > 0
  const alarms = watch.said.filter(({ event, nonce, reason }) => {
    if (!ALARMS.has(event) || reason === COLD_START) return false
    if (event === 'foreign') return nonce === undefined || !foreign.has(nonce)
    return !(event === 'displaced' && displaces)
  })
  const names = new Set(
    alarms.map(({ event, reason, atMs }) => `${event} ${reason ?? ''} at ${atMs}`.replace('  ', ' ')),
  )
  if (names.size === 0) return []
  return [{ rule: 'honest', text: `one endpoint was honest, and yet: ${[...names].slice(0, 4).join(', ')}` }]
}

const ACCUSATIONS: ReadonlySet<string> = new Set(['foreign', 'unresolved', 'displaced', 'rebound'])

/**
 * If no other wallet has the key, and the chain does not go back, no transaction is reported as foreign or
 * doubtful.
 */
function falseAlarms({ plan, watch }: Remains): OddViolation[] {
  if (plan.foreign.length > 0 || plan.rewind !== undefined || isOneHonest(plan)) return []
  // Below its first nonce the account had sent transactions before the world began.
  const alarms = watch.said.filter(
    ({ event, nonce }) => ACCUSATIONS.has(event) && (nonce === undefined || nonce >= plan.nonce),
  )
  return alarms
    .slice(0, 3)
    .map(({ event, nonce, id, atMs }) => ({ rule: 'alarm', text: `${event} ${id ?? nonce} at ${atMs}` }))
}
