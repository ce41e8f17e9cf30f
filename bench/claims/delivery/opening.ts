import { startNodeProxy } from '../../../test/support/nodeProxy.js'
import { pause } from '../../../test/support/pause.js'
import { atMost, medianOf } from '../../check.js'
import type { Outcome } from '../../claim.js'
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
 * So long that what a process computes for its first send is far less than half of one: with 250 ms and the 115 ms that it
 * takes on a slow machine (45 of them to load the code) three round trips were counted as 3 or 4.
 */
const ROUND_TRIP_MS = 500
const COLD = 'the first send of a process, nothing given'
const WARM = 'a later one, nothing given'
/** By then the first is in a block, and nothing of it is left to do. */
const IDLE_MS = 3_000

type Trips = { readonly cold: number; readonly warm: number }

/** Round trips from the call until the transaction is accepted, its own among them. */
export async function opening({ geth, rounds, say }: PartContext): Promise<Outcome> {
  await using node = await startGeth(geth)
  await using processes = await startSubjects(SUBJECTS)
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds,
    // A process that has sent nothing cannot be warmed up.
    warmUps: 0,
    run: ({ name, subject }, { round }) => turn(node, processes, subject, `opening ${name} ${round}`),
    show: ({ cold, warm }) => `${cold.toFixed(2)} round trips, later ${warm.toFixed(2)}`,
    say,
  })
  const figuresWith = (measure: string, of: (trips: Trips) => number) =>
    figuresOf(
      { measure, unit: `round trips of ${ROUND_TRIP_MS} ms` },
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
      `Opening: from the call of send until it is accepted, over a round trip of ${ROUND_TRIP_MS} ms to geth, in a new process each time. What is over a whole number is the process's own time.`,
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
  await using proxy = await startNodeProxy(node.url, { roundTripMs: ROUND_TRIP_MS })
  const { privateKey } = await paidAccount(node, words)
  await processes.restart(subject)
  try {
    await processes.open(subject, { url: proxy.url, privateKey, count: 1, chain: node.chain, cold: true })
    const one = async () => (await processes.burst(subject, { count: 1 })).ms / ROUND_TRIP_MS
    const cold = await one()
    await pause(IDLE_MS)
    return { cold, warm: await one() }
  } finally {
    await processes.close(subject)
  }
}
