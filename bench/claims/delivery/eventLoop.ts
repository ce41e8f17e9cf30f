import { atMost, medianOf, type Outcome } from '../../claim.js'
import { careful } from '../../subjects/careful.js'
import { idle } from '../../subjects/idle.js'
import { txlaneGiven } from '../../subjects/txlane.js'
import type { Subject } from '../../subjects/types.js'
import { viemBatched, viemGiven } from '../../subjects/viem.js'
import { paidAccount, startGeth } from '../../support/geth.js'
import { watchLanding } from '../../support/landing.js'
import { takeTurns } from '../../support/rounds.js'
import { figuresOf } from '../../support/spread.js'
import { type Sent, startSubjects } from '../../support/subjectProcesses.js'
import { type PartContext, scaled } from './part.js'

const SUBJECTS: readonly Subject[] = [txlaneGiven, careful, viemGiven, viemBatched, idle]
const WANTED_MS = 5
/**
 * Limit relative to a loop without bookkeeping that yields to the event loop every 2 ms: on a busy machine
 * that loop is late itself.
 */
const OF_THE_LOOP = 2
const COUNT = 5_000
const QUIET_BLOCKS = 3
const LIMIT_MS = 60_000
/**
 * A process compiles its hot functions during its first bursts, on the cores that the node uses. The lateness
 * falls until the fifth burst; the first is reported by itself.
 */
const WARM_UPS = 4
const P99 = 'how late a timer is during a burst, 99th percentile'
const MOST = 'how late a timer is during a burst, the latest'
const FIRST = 'how late a timer is during the first burst of a process, 99th percentile'

/** Measures the delay of other timers in the caller's process during a burst. */
export async function eventLoop(context: PartContext): Promise<Outcome> {
  const count = scaled(COUNT, context)
  await using node = await startGeth(context.geth)
  await using processes = await startSubjects(SUBJECTS)

  async function turn(subject: Subject, words: string): Promise<Sent> {
    const fresh = await paidAccount(node, words)
    const world = { url: node.url, privateKey: fresh.privateKey, count, chain: node.chain }
    // A process without work needs another one that loads the machine.
    const sending = subject === idle ? careful : subject
    try {
      await processes.open(subject, world)
      if (sending !== subject) await processes.open(sending, world)
      const sent = processes.burst(subject, { count, watchLoop: true })
      const all = sending === subject ? sent : Promise.all([sent, processes.burst(sending, { count })])
      // Transactions left in the pool would block the next turn.
      await watchLanding({
        node,
        fresh,
        count,
        begin: () => all,
        quietBlocks: QUIET_BLOCKS,
        limitMs: LIMIT_MS,
      })
      return await sent
    } finally {
      for (const opened of new Set([subject, sending])) await processes.close(opened)
    }
  }

  const firsts = new Map<string, Sent>()
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds: context.rounds,
    warmUps: WARM_UPS,
    async run({ name, subject }, { round }) {
      const sent = await turn(subject, `event loop ${name} ${round}`)
      if (!firsts.has(name)) firsts.set(name, sent)
      return sent
    },
    show: ({ delayP99Ms = 0, delayMsMax = 0 }) =>
      `${delayP99Ms.toFixed(1)} ms late at the 99th percentile, ${delayMsMax.toFixed(1)} at most`,
    say: context.say,
  })
  const figuresWith = (
    measure: string,
    all: Iterable<readonly [string, readonly Sent[]]>,
    of: (sent: Sent) => number | undefined,
  ) =>
    figuresOf(
      { measure, unit: 'ms' },
      [...all].map(([name, sent]) => [name, sent.flatMap((one) => of(one) ?? [])] as const),
    )
  const first = [...firsts].map(([name, sent]) => [name, [sent]] as const)
  const figures = [
    ...figuresWith(P99, values, (sent) => sent.delayP99Ms),
    ...figuresWith(MOST, values, (sent) => sent.delayMsMax),
    ...figuresWith(FIRST, first, (sent) => sent.delayP99Ms),
  ]
  const loopMs = medianOf(figures, P99, careful.name) ?? 0
  return {
    figures,
    checks: [
      atMost(
        `ms that the caller's timers are late during a burst, 99th percentile (${WANTED_MS}, or ${OF_THE_LOOP} times the careful loop's)`,
        medianOf(figures, P99, txlaneGiven.name),
        Math.max(WANTED_MS, OF_THE_LOOP * loopMs),
      ),
    ],
    notes: [
      `Event loop: ${count} transfers, gas and fees given, sent in parts of 50, between which the caller yields to the event loop; a timer of 1 ms runs in the same process. The careful loop yields after each 2 ms of signing. viem without batching has 500 calls open at a time. A process without work shows how late the machine alone makes a timer. ${WARM_UPS} bursts of each process come before the measured ones.`,
      ...failures,
    ],
  }
}
