import { performance } from 'node:perf_hooks'
import { atLeast, ratioOf } from '../check.js'
import type { Claim, Context } from '../claim.js'
import { bareLoop, bareLoopEstimating, presignedBatches } from '../subjects/bare.js'
import { ethersDefault } from '../subjects/ethers.js'
import { mudDefault } from '../subjects/mud.js'
import { txlaneDefault, txlaneGiven, txlaneWide } from '../subjects/txlane.js'
import type { Subject } from '../subjects/types.js'
import { viemBatched, viemDefault, viemGiven, viemSync } from '../subjects/viem.js'
import { chainOf, freshAccount, type Node, requireOnce, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const SUBJECTS: readonly Subject[] = [
  txlaneDefault,
  viemDefault,
  ethersDefault,
  mudDefault,
  bareLoopEstimating,
  txlaneGiven,
  txlaneWide,
  viemGiven,
  viemBatched,
  viemSync,
  bareLoop,
  presignedBatches,
]
// Enough to have everything compiled, and the slow ones done soon.
const WARM_UP_MAX = 500
const FOUND_OUT = 'gas and fees found out by the sender'
const GIVEN = 'gas and fees given'
/** Of the bare loop, which is the limit of what a sender can do on this machine. */
const OF_THE_LIMIT = 0.85
const measureOf = ({ given }: Subject) => (given === 'nothing' ? FOUND_OUT : GIVEN)

export const claim: Claim = {
  says: 'A burst from one key goes out as fast as a loop that keeps no books.',
  transactions: 5_000,
  async run(context) {
    await using node = await startNode()
    const subjects = SUBJECTS.map((subject) => ({ name: `${subject.name} (${measureOf(subject)})`, subject }))
    const { values, failures } = await takeTurns({
      subjects,
      rounds: context.rounds,
      run: ({ name, subject }, { round }) => burst(node, subject, `burst ${name} ${round}`, round, context),
      show: (rate) => `${Math.round(rate)} accepted a second`,
      say: context.say,
    })
    const figures = [FOUND_OUT, GIVEN].flatMap((measure) =>
      figuresOf(
        { measure, unit: 'accepted a second' },
        subjects
          .filter(({ subject }) => measureOf(subject) === measure)
          .map(({ name, subject }) => [subject.name, values.get(name) ?? []] as const),
      ),
    )
    const ratio = (measure: string, other: Subject) =>
      ratioOf(figures, measure, 'txlane', { subject: other.name })
    /** Where the node is slower than the sender could be, nobody is so many times as fast as another. */
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
        `${context.transactions} transfers from one key, accepted by anvil on the same machine; each burst was found in the blocks, each transfer once, before its rate counted.`,
        "txlane and the bare loop sign with nativeAccount, the others with their own keys' JavaScript.",
        'viem and ethers have 500 calls open at a time, with HTTP batching all of them; txlane and @latticexyz/common queue by themselves.',
        'Asked for are 4 times viem, 8 times where gas and fees are given and 3.5 times where it batches, or 0.85 of the bare loop where that is less: there the node is the limit.',
        ...failures,
      ],
    }
  },
}

async function burst(
  node: Node,
  subject: Subject,
  words: string,
  round: number,
  context: Context,
): Promise<number> {
  const count = round === 0 ? Math.min(WARM_UP_MAX, context.transactions) : context.transactions
  const fresh = await freshAccount(node, words)
  const { url } = node
  const driver = subject.open({ url, chain: chainOf(url), privateKey: fresh.privateKey, count })
  try {
    await driver.ready?.()
    const begun = performance.now()
    await driver.burst(count)
    const perSecond = (count * 1_000) / (performance.now() - begun)
    await requireOnce(node, fresh, count)
    return perSecond
  } finally {
    await driver.close()
  }
}
