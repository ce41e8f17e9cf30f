import { systemClock } from '../../src/platform/clock.js'
import { within } from '../../test/demo/within.js'
import { atLeast, type Claim, type Context, ratioOf } from '../claim.js'
import { bareLoop } from '../subjects/bare.js'
import { BURST_SUBJECTS } from '../subjects/index.js'
import type { Subject } from '../subjects/types.js'
import { viemBatched, viemDefault, viemGiven } from '../subjects/viem.js'
import { freshAccount, type Node, requireOnce, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'
import { type SubjectProcesses, startSubjects } from '../support/subjectProcesses.js'

const FOUND_OUT = 'gas and fees found out by the sender'
const GIVEN = 'gas and fees given'
const RESTED = 'the first half of a burst after the others had their turns, gas and fees given'
/**
 * V8 compiles the code that a library creates per sender twice: first for the only sender, and again for all
 * senders when a second one exists. A process that keeps sending has finished both.
 */
const WARM_UPS = 2
/** Several times the duration of the slowest subject: a burst without an end by then is stuck. */
const BURST_LIMIT_MS = 60_000
/**
 * Minimum duration of a measured turn, made of consecutive bursts: a single burst takes less than a second on
 * a busy machine.
 */
const MEASURED_MS = 3_000
/** Share of the bare loop, which is the limit for any sender on this machine. */
const OF_THE_LIMIT = 0.85
const measureOf = ({ given }: Subject) => (given === 'nothing' ? FOUND_OUT : GIVEN)

export const claim: Claim = {
  says: 'A burst from one key goes out nearly as fast as from a loop that keeps no books.',
  transactions: 5_000,
  async run(context) {
    await using node = await startNode()
    await using processes = await startSubjects(BURST_SUBJECTS)
    const subjects = BURST_SUBJECTS.map((subject) => ({
      name: `${subject.name} (${measureOf(subject)})`,
      subject,
    }))
    const { values, failures } = await takeTurns({
      subjects,
      rounds: context.rounds,
      warmUps: WARM_UPS,
      run: ({ name, subject }, { round }) =>
        turn({ node, processes, subject, context }, `burst ${name} ${round}`),
      show: ({ rested, rate }) => `${Math.round(rate)} accepted a second, ${Math.round(rested)} before`,
      say: context.say,
    })
    const figuresWith = (label: string, measure: string, of: (rates: Rates) => number) =>
      figuresOf(
        { measure: label, unit: 'accepted a second' },
        subjects
          .filter(({ subject }) => measureOf(subject) === measure)
          .map(({ name, subject }) => [subject.name, (values.get(name) ?? []).map(of)] as const),
      )
    const figures = [
      ...figuresWith(FOUND_OUT, FOUND_OUT, ({ rate }) => rate),
      ...figuresWith(GIVEN, GIVEN, ({ rate }) => rate),
      ...figuresWith(RESTED, GIVEN, ({ rested }) => rested),
    ]
    const ratio = (measure: string, other: Subject) =>
      ratioOf(figures, measure, 'txlane', { subject: other.name })
    /**
     * If the node is slower than the sender could be, no library can be that many times faster than another,
     * so the target is limited by the bare loop.
     */
    const reachable = (wanted: number, other: Subject) => {
      const most = ratioOf(figures, measureOf(other), bareLoop.name, { subject: other.name })
      return Math.min(wanted, OF_THE_LIMIT * (most ?? Number.POSITIVE_INFINITY))
    }
    return {
      figures,
      checks: [
        atLeast(
          'times viem, neither given gas or fees',
          ratio(FOUND_OUT, viemDefault),
          reachable(4, viemDefault),
        ),
        atLeast('times viem, both given them', ratio(GIVEN, viemGiven), reachable(8, viemGiven)),
        atLeast(
          'times viem with HTTP batching, both given them',
          ratio(GIVEN, viemBatched),
          reachable(3.5, viemBatched),
        ),
        atLeast('of the bare loop that signs natively', ratio(GIVEN, bareLoop), OF_THE_LIMIT),
      ],
      notes: [
        'Each subject has its own process for all rounds, as in production, with a sender that stays open. Each turn begins with half a burst, because V8 shrinks the heap of an idle process during the turns of the others and has to grow it again. Then bursts follow each other for at least three seconds.',
        `${context.transactions} transfers from one key, accepted by anvil on the same machine; a rate counts only after each transfer was found in the blocks exactly once.`,
        "txlane and the bare loop sign with nativeAccount, the others with their own keys' JavaScript.",
        'viem and ethers have 500 calls open at a time, with HTTP batching all of them; txlane and @latticexyz/common have their own queues.',
        'The targets are 4 times viem, 8 times with given gas and fees, and 3.5 times with batching, or 0.85 of the bare loop if that is less, because then the node is the limit.',
        ...failures,
      ],
    }
  },
}

/** Accepted transactions per second. */
type Rates = { readonly rested: number; readonly rate: number }

type Parts = {
  readonly node: Node
  readonly processes: SubjectProcesses
  readonly subject: Subject
  readonly context: Context
}

async function turn(parts: Parts, words: string): Promise<Rates> {
  const { transactions: count } = parts.context
  const half = Math.ceil(count / 2)
  const restedMs = await burst(parts, `${words}, half`, half)
  let bursts = 0
  let ms = 0
  while (ms < MEASURED_MS) ms += await burst(parts, `${words}, ${++bursts}`, count)
  return { rested: (half * 1_000) / restedMs, rate: (bursts * count * 1_000) / ms }
}

/** Runs a burst and returns its duration in milliseconds. */
async function burst({ node, processes, subject }: Parts, words: string, count: number): Promise<number> {
  const fresh = await freshAccount(node, words)
  try {
    await processes.open(subject, { url: node.url, privateKey: fresh.privateKey, count })
    const sent = await within(systemClock, BURST_LIMIT_MS, processes.burst(subject, { count }))
    if (sent === 'late') throw new Error(`no end after ${BURST_LIMIT_MS / 1_000} s`)
    await requireOnce(node, fresh, count)
    return sent.ms
  } catch (error) {
    // The burst would continue during the turns of other subjects.
    await processes.restart(subject)
    throw error
  }
}
