import { atLeast, type Figure, medianOf, type Outcome } from '../../claim.js'
import { CAREFUL } from '../../subjects/careful.js'
import { txlaneGiven } from '../../subjects/txlane.js'
import type { Subject } from '../../subjects/types.js'
import { type Geth, paidAccount, startGeth } from '../../support/geth.js'
import { takeTurns } from '../../support/rounds.js'
import { figuresOf } from '../../support/spread.js'
import { type SubjectProcesses, startSubjects } from '../../support/subjectProcesses.js'
import { type Landed, landedBurst } from './landedBurst.js'
import { type PartContext, together } from './part.js'

const ROUND_TRIPS_MS = [20, 100, 250]
const SUBJECTS: readonly Subject[] = [txlaneGiven, ...CAREFUL]
const LIMIT_MS = 60_000

type World = { readonly node: Geth; readonly processes: SubjectProcesses; readonly roundTripMs: number }

/** A burst over several round trips, compared with the careful loop with several batch sizes. */
export async function roundTrips(context: PartContext): Promise<Outcome> {
  await using node = await startGeth(context.geth)
  await using processes = await startSubjects(SUBJECTS)
  const outcomes: Outcome[] = []
  for (const roundTripMs of ROUND_TRIPS_MS)
    outcomes.push(await outcomeAt({ node, processes, roundTripMs }, context))
  const note = `Round trips: ${context.transactions} transfers from one key, gas and fees given, on a geth with blocks every second (${node.version}). Each turn begins right after a block, so that the time to the last block is a number of whole blocks. The time to the pool ends when the node's \`pending\` count includes all transfers; it is polled every 15 ms.`
  return together([...outcomes, { figures: [], checks: [], notes: [note] }])
}

async function outcomeAt(world: World, { rounds, transactions: count, say }: PartContext): Promise<Outcome> {
  const { node, roundTripMs } = world
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds,
    async run({ name, subject }, { round }) {
      const fresh = await paidAccount(node, `round trip ${name} ${roundTripMs} ${round}`)
      return landedBurst({ ...world, subject, fresh, count, limitMs: LIMIT_MS })
    },
    show: ({ ms, pooledMs }) =>
      `${roundTripMs} ms: ${seconds(pooledMs).toFixed(2)} s to the pool, ${seconds(ms).toFixed(2)} s to a block`,
    say,
  })
  const at = `round trip of ${roundTripMs} ms`
  const measure = `until all are in blocks, ${at}`
  const figuresWith = (name: string, of: (landed: Landed) => number) =>
    figuresOf(
      { measure: name, unit: 'seconds' },
      [...values].map(([subject, all]) => [subject, all.map((one) => seconds(of(one)))] as const),
    )
  const figures = [
    ...figuresWith(measure, ({ ms }) => ms),
    ...figuresWith(`until the pool has all, ${at}`, ({ pooledMs }) => pooledMs),
  ]
  const says = `of the rate of the best careful loop, ${at}`
  return { figures, checks: [atLeast(says, ofTheBest(figures, measure), 0.9)], notes: failures }
}

const seconds = (ms: number) => ms / 1_000

function ofTheBest(figures: readonly Figure[], measure: string): number | undefined {
  const own = medianOf(figures, measure, txlaneGiven.name)
  const others = CAREFUL.flatMap(({ name }) => medianOf(figures, measure, name) ?? [])
  return own === undefined || others.length === 0 ? undefined : Math.min(...others) / own
}
