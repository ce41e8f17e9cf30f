import type { Address } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import type { PlainRpc } from '../demo/plainRpc.js'
import { deriveRandom } from '../sim/random.js'
import { type Answer, isAnswer, kindOf, saysEnded } from '../sweep/answers.js'
import { readChain, type Waiting } from '../sweep/chain.js'
import { check, type Verdict } from '../sweep/check.js'
import type { DatedAsk, LifeOrder, Report } from './asks.js'
import type { Leases } from './lease.js'
import { type Life, runLife } from './life.js'
import { asksOf, type GroupPlan, type Kill } from './plan.js'

/** The things that the lives of one lane share. */
export type Lane = {
  readonly bundle: string
  readonly seed: number
  readonly account: Address
  readonly order: Omit<LifeOrder, 'asks' | 'end' | 'closeAfterMs'>
  readonly leases: Leases
  readonly rpc: PlainRpc
  /** The newest sealed block before the first life. */
  readonly startBlock: number
  /** The transactions in the node's pool. */
  waiting(): Promise<Waiting>
  /** Called for each kill. */
  killed(kill: Kill, at: string): void
}

export type GroupResult = {
  readonly verdict: Verdict
  /** A point for each kill, or `random`. */
  readonly killedAt: readonly string[]
  readonly lives: number
  readonly leasesRunOut: number
  /**
   * Milliseconds from the start of a life after a kill to its first acceptance, without lives that waited
   * for a lease.
   */
  readonly restartMs: readonly number[]
  /** Problems apart from the chain: lives that got stuck or failed. */
  readonly problems: readonly string[]
  readonly troubles: readonly string[]
  /** The answers for all asks, each as often as it came. */
  readonly reported: readonly string[]
}

// If a life does not reach its point, the next life tries it, at its first pass.
const TRIES_MAX = 4
/** Some users keep no records: with this probability a life requests all asks again. */
const FORGETS = 0.25

/**
 * Kills the lives of one lane one after the other, lets the last one finish, and compares it with the chain.
 */
export async function runGroup(lane: Lane, plan: GroupPlan): Promise<GroupResult> {
  const asks = new Map<string, DatedAsk>()
  const reported: Report[] = []
  const killedAt: string[] = []
  const restartMs: number[] = []
  const problems: string[] = []
  let lives = 0
  let leasesRunOut = 0
  /** How the previous life ended, if it was killed. */
  let before: 'killed' | 'killed, and has the lease' | undefined

  async function live(how: {
    readonly end: LifeOrder['end']
    readonly randomMs?: number | undefined
    readonly closeAfterMs: number | undefined
    readonly everything: boolean
    readonly wants: boolean
  }): Promise<Life> {
    const number = lives++
    const nowMs = systemClock.now()
    const fresh = how.wants ? asksOf(lane.seed, plan.number, number) : []
    const again = [...asks.values()].filter(({ id, kind }) => {
      if (kind === 'allocated' || kind === 'returned') return false
      return how.everything || !isKnown(id)
    })
    for (const ask of fresh) asks.set(ask.id, { ...ask, firstAskedAtMs: nowMs })
    const wanted = [...again, ...fresh.map(({ id }) => asks.get(id) as DatedAsk)]
    const { end, closeAfterMs } = how
    const life = await runLife(lane.bundle, { ...lane.order, asks: wanted, end, closeAfterMs }, how.randomMs)
    reported.push(...life.reports)
    if (before === 'killed' && life.firstAcceptedMs !== undefined) restartMs.push(life.firstAcceptedMs)
    before = undefined
    if (life.stuck) problems.push(`life ${number} got stuck; open: ${openOf(life, wanted).join(', ')}`)
    else if (!life.done && life.killedAt === undefined) problems.push(`life ${number} failed: ${life.stderr}`)
    return life
  }

  const isKnown = (id: string) => reported.some((report) => isEnd(report) && report.id === id)

  for (const kill of plan.kills) {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const random = deriveRandom(lane.seed, `kill ${kill.number}, try ${tries}`)
      const { how } = kill
      const life = await live({
        end: how.at === 'point' ? { point: how.point, pass: tries === 0 ? how.pass : 1 } : undefined,
        // How far a life comes before a random moment is luck: if it ends earlier, the kill is repeated with
        // a shorter delay.
        randomMs: how.at === 'random' ? how.afterMs / (tries + 1) : undefined,
        closeAfterMs: tries === 0 ? kill.closeAfterMs : undefined,
        everything: random() < FORGETS,
        wants: true,
      })
      if (life.killedAt === undefined) continue
      killedAt.push(life.killedAt)
      lane.killed(kill, life.killedAt)
      before = 'killed'
      if (kill.leaseRunsOut) {
        before = 'killed, and has the lease'
        leasesRunOut++
      } else await lane.leases.runOut(lane.account)
      break
    }
  }
  await live({ end: undefined, closeAfterMs: undefined, everything: true, wants: false })
  const [chain] = await readChain({
    rpc: lane.rpc,
    accounts: [lane.account],
    after: lane.startBlock,
    waiting: await lane.waiting(),
  })
  const verdict = check({ account: lane.account, asks: [...asks.values()], reported, chain: chain! })
  const troubles = reported.flatMap((report) => (report.report === 'trouble' ? [report.message] : []))
  const answers = reported.filter(isAnswer).map(kindOf)
  return { verdict, killedAt, lives, leasesRunOut, restartMs, problems, troubles, reported: answers }
}

/** True if the answer is the outcome of the transaction. */
function isEnd(report: Report): report is Answer {
  return isAnswer(report) && (report.report === 'sealed' || saysEnded(report))
}

/** The ids that a stuck life requested and that got no answer. */
function openOf({ reports }: Life, wanted: readonly DatedAsk[]): readonly string[] {
  const answered = new Set(reports.filter(isEnd).map(({ id }) => id))
  return wanted.map(({ id }) => id).filter((id) => !answered.has(id))
}
