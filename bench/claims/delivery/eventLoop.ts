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
 * A process compiles its hot functions during its first bursts, on the cores that the node uses, and discards
 * code while it rests. The lateness falls until the fifth burst of a series. viem has no such series: its
 * bursts take half a minute.
 */
const SERIES = 5
const SERIAL: ReadonlySet<Subject> = new Set([txlaneGiven, careful, idle])
const P99 = 'how late a timer is during a burst, 99th percentile'
const MOST = 'how late a timer is during a burst, the latest'
const RESTED = 'how late a timer is during the first burst after a rest, 99th percentile'

/** The first and the last burst of a series. */
type Series = { readonly first: Sent; readonly last: Sent }

/** Measures the delay of other timers in the caller's process during a burst. */
export async function eventLoop(context: PartContext): Promise<Outcome> {
  const count = scaled(COUNT, context)
  await using node = await startGeth(context.geth)
  await using processes = await startSubjects(SUBJECTS)

  async function burst(subject: Subject, words: string): Promise<Sent> {
    const fresh = await paidAccount(node, words)
    const world = { url: node.url, privateKey: fresh.privateKey, count, chain: node.chain }
    // A process without work needs another one that loads the machine.
    const sending = subject === idle ? careful : subject
    try {
      await processes.open(subject, world)
      if (sending !== subject) await processes.open(sending, world)
      const sent = processes.burst(subject, { count, watchLoop: true })
      const all = sending === subject ? sent : Promise.all([sent, processes.burst(sending, { count })])
      // Transactions left in the pool would block the next burst.
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

  async function series(subject: Subject, words: string): Promise<Series> {
    const first = await burst(subject, `${words} 1`)
    let last = first
    for (let index = 2; SERIAL.has(subject) && index <= SERIES; index++)
      last = await burst(subject, `${words} ${index}`)
    return { first, last }
  }

  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds: context.rounds,
    warmUps: 0,
    run: ({ name, subject }, { round }) => series(subject, `event loop ${name} ${round}`),
    show: ({ first, last }) =>
      `${shown(last.delayP99Ms)} late at the 99th percentile, ${shown(last.delayMsMax)} at most; ${shown(first.delayP99Ms)} in the first burst`,
    say: context.say,
  })
  const figuresWith = (measure: string, of: (series: Series) => number | undefined) =>
    figuresOf(
      { measure, unit: 'ms' },
      [...values].map(([name, all]) => [name, all.flatMap((one) => of(one) ?? [])] as const),
    )
  const figures = [
    ...figuresWith(P99, ({ last }) => last.delayP99Ms),
    ...figuresWith(MOST, ({ last }) => last.delayMsMax),
    ...figuresWith(RESTED, ({ first }) => first.delayP99Ms),
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
      `Event loop: ${count} transfers, gas and fees given, sent in parts of 50, between which the caller yields to the event loop; a timer of 1 ms runs in the same process. The careful loop yields after each 2 ms of signing. viem without batching has 500 calls open at a time. A process without work shows how late the machine alone makes a timer. A series has ${SERIES} bursts in one process; its last one counts, and its first one, which comes after a rest, is shown by itself.`,
      ...failures,
    ],
  }
}

const shown = (ms = 0): string => `${ms.toFixed(1)} ms`
