import { atMost, medianOf, type Outcome } from '../../claim.js'
import { careful } from '../../subjects/careful.js'
import { txlaneGiven } from '../../subjects/txlane.js'
import { paidAccount, startGeth } from '../../support/geth.js'
import { takeTurns } from '../../support/rounds.js'
import { figuresOf } from '../../support/spread.js'
import { startSubjects } from '../../support/subjectProcesses.js'
import { landedBurst } from './landedBurst.js'
import type { PartContext } from './part.js'

const SUBJECTS = [txlaneGiven, careful]
const PERIOD_S = 12
const ROUND_TRIP_MS = 50
const LIMIT_MS = 100_000
const MEASURE = `until all are in blocks, blocks every ${PERIOD_S} s`

/** The burst has a whole block time to reach the pool, and fits into one block. */
export async function slowBlocks({ geth, rounds, transactions: count, say }: PartContext): Promise<Outcome> {
  await using node = await startGeth(geth, { periodS: PERIOD_S })
  await using processes = await startSubjects(SUBJECTS)
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
    rounds,
    // A warm-up would not make it faster, and a turn takes as long as a block.
    warmUps: 0,
    async run({ name, subject }, { round }) {
      const fresh = await paidAccount(node, `slow blocks ${name} ${round}`)
      const burst = { node, processes, subject, fresh, count, roundTripMs: ROUND_TRIP_MS, limitMs: LIMIT_MS }
      return (await landedBurst(burst)).blocks
    },
    show: (blocks) => `${blocks} blocks`,
    say,
  })
  const figures = figuresOf({ measure: MEASURE, unit: 'blocks' }, values)
  const slowest = figures.find(({ subject }) => subject === txlaneGiven.name)?.most
  return {
    figures,
    checks: [
      atMost(
        `blocks until all are in one, blocks every ${PERIOD_S} s, median`,
        medianOf(figures, MEASURE, txlaneGiven.name),
        1,
      ),
      atMost('the same, the slowest round', slowest, 1),
    ],
    notes: [
      `Slow blocks: ${count} transfers over a round trip of ${ROUND_TRIP_MS} ms on a geth whose blocks hold 14,285; 1 is the first block after the first send.`,
      ...failures,
    ],
  }
}
