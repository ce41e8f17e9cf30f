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
const P99 = 'how late a timer is during a burst, 99th percentile'
const MOST = 'how late a timer is during a burst, the latest'

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

  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds: context.rounds,
    run: ({ name, subject }, { round }) => turn(subject, `event loop ${name} ${round}`),
    show: ({ delayP99Ms = 0, delayMsMax = 0 }) =>
      `${delayP99Ms.toFixed(1)} ms late at the 99th percentile, ${delayMsMax.toFixed(1)} at most`,
    say: context.say,
  })
  const figuresWith = (measure: string, of: (sent: Sent) => number | undefined) =>
    figuresOf(
      { measure, unit: 'ms' },
      [...values].map(([name, all]) => [name, all.flatMap((sent) => of(sent) ?? [])] as const),
    )
  const figures = [
    ...figuresWith(P99, (sent) => sent.delayP99Ms),
    ...figuresWith(MOST, (sent) => sent.delayMsMax),
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
      `Event loop: ${count} transfers, gas and fees given, sent in parts of 50, between which the caller yields to the event loop; a timer of 1 ms runs in the same process. The careful loop yields after each 2 ms of signing. viem without batching has 500 calls open at a time. A process without work shows how late the machine alone makes a timer.`,
      ...failures,
    ],
  }
}
