import { startNodeProxy } from '../../../test/support/nodeProxy.js'
import { pause } from '../../../test/support/pause.js'
import { atMost, medianOf, type Outcome } from '../../claim.js'
import { ethersDefault } from '../../subjects/ethers.js'
import { txlaneDefault } from '../../subjects/txlane.js'
import type { Subject } from '../../subjects/types.js'
import { viemDefault } from '../../subjects/viem.js'
import { type Geth, paidAccount, startGeth } from '../../support/geth.js'
import { takeTurns } from '../../support/rounds.js'
import { figuresOf } from '../../support/spread.js'
import { type SubjectProcesses, startSubjects } from '../../support/subjectProcesses.js'
import type { PartContext } from './part.js'

const SUBJECTS: readonly Subject[] = [txlaneDefault, viemDefault, ethersDefault]
/**
 * Measured over two paths, of which the difference counts: the computing time of the first send is part of
 * both. With one path of 500 ms, and 250 ms of computing on a busy machine, three round trips were counted as
 * 3 or 4.
 */
const ROUND_TRIPS_MS = { short: 250, long: 750 } as const
const DIFFERENCE_MS = ROUND_TRIPS_MS.long - ROUND_TRIPS_MS.short
const COLD = 'the first send of a process, nothing given'
const WARM = 'a later one, nothing given'
/** After this time the first transaction is in a block, and its work has ended. */
const IDLE_MS = 3_000

type Trips = { readonly cold: number; readonly warm: number }
type Times = { readonly coldMs: number; readonly warmMs: number }

/** Measures the round trips from the call until the transaction is accepted, including its own. */
export async function opening({ geth, rounds, say }: PartContext): Promise<Outcome> {
  await using node = await startGeth(geth)
  await using processes = await startSubjects(SUBJECTS)
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds,
    // A process without earlier sends has no warm-up.
    warmUps: 0,
    run: ({ name, subject }, { round }) => turn(node, processes, subject, `opening ${name} ${round}`),
    show: ({ cold, warm }) => `${cold.toFixed(2)} round trips, later ${warm.toFixed(2)}`,
    say,
  })
  const figuresWith = (measure: string, of: (trips: Trips) => number) =>
    figuresOf(
      { measure, unit: 'round trips' },
      [...values].map(([name, all]) => [name, all.map(of)] as const),
    )
  const figures = [...figuresWith(COLD, ({ cold }) => cold), ...figuresWith(WARM, ({ warm }) => warm)]
  const whole = (measure: string) => {
    const median = medianOf(figures, measure, txlaneDefault.name)
    return median === undefined ? undefined : Math.round(median)
  }
  return {
    figures,
    checks: [
      atMost('round trips for the first send of a process, nothing given', whole(COLD), 3),
      atMost('round trips for a later one, nothing given', whole(WARM), 2),
    ],
    notes: [
      `Opening: from the call of send until it is accepted, in a new process each time, once over a round trip of ${ROUND_TRIPS_MS.short} ms to geth and once over ${ROUND_TRIPS_MS.long} ms. The round trips are the difference of the two times, divided by ${DIFFERENCE_MS} ms: the process's own time is in both.`,
      ...failures,
    ],
  }
}

async function turn(
  node: Geth,
  processes: SubjectProcesses,
  subject: Subject,
  words: string,
): Promise<Trips> {
  const timesOver = (roundTripMs: number) =>
    timed(node, processes, { subject, roundTripMs, words: `${words}, ${roundTripMs} ms` })
  const short = await timesOver(ROUND_TRIPS_MS.short)
  const long = await timesOver(ROUND_TRIPS_MS.long)
  return {
    cold: (long.coldMs - short.coldMs) / DIFFERENCE_MS,
    warm: (long.warmMs - short.warmMs) / DIFFERENCE_MS,
  }
}

async function timed(
  node: Geth,
  processes: SubjectProcesses,
  asked: { readonly subject: Subject; readonly roundTripMs: number; readonly words: string },
): Promise<Times> {
  const { subject, roundTripMs, words } = asked
  await using proxy = await startNodeProxy(node.url, { roundTripMs })
  const { privateKey } = await paidAccount(node, words)
  await processes.restart(subject)
  try {
    await processes.open(subject, { url: proxy.url, privateKey, count: 1, chain: node.chain, cold: true })
    const oneMs = async () => (await processes.burst(subject, { count: 1 })).ms
    const coldMs = await oneMs()
    await pause(IDLE_MS)
    return { coldMs, warmMs: await oneMs() }
  } finally {
    await processes.close(subject)
  }
}
