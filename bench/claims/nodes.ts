import { findGeth, NO_GETH } from '../../test/nodes/find/geth.js'
import { startNodeProxy } from '../../test/support/nodeProxy.js'
import { atLeast, atMost, medianOf, ratioOf } from '../check.js'
import type { Claim, Context, Curves } from '../claim.js'
import { bareLoop } from '../subjects/bare.js'
import { careful } from '../subjects/careful.js'
import { ethersGiven } from '../subjects/ethers.js'
import { txlaneGiven } from '../subjects/txlane.js'
import type { Subject } from '../subjects/types.js'
import { viemBatched, viemGiven } from '../subjects/viem.js'
import { paidAccount, startGeth } from '../support/geth.js'
import { type Landing, watchLanding } from '../support/landing.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'
import { type SubjectProcesses, startSubjects } from '../support/subjectProcesses.js'

const SUBJECTS: readonly Subject[] = [txlaneGiven, careful, viemGiven, viemBatched, ethersGiven, bareLoop]
const LANDED = 'landed'
const SECONDS = 'until the last one that landed was in a block'
const POOLED = 'until the pool has all'
const SENDS = 'raw transactions sent'
/** What has not landed by then has no end in sight. */
const LIMIT_MS = 90_000
/** geth tries again every 10 s what it has dropped: twice that, and it is lost. */
const QUIET_BLOCKS = 21

type Turn = Landing & { readonly sends: number; readonly version: string }
type Parts = {
  readonly file: string
  readonly processes: SubjectProcesses
  readonly subject: Subject
  readonly count: number
}

export const claim: Claim = {
  says: 'On a stock geth all of a burst lands, as fast as from a loop that knows its pool, and each is sent once.',
  transactions: 10_000,
  async run(context) {
    const file = await findGeth()
    if (file === undefined) return { leftOut: NO_GETH }
    await using processes = await startSubjects(SUBJECTS)
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS.map((subject) => ({ name: subject.name, subject })),
      rounds: context.rounds,
      run: ({ name, subject }, { round }) =>
        turn({ file, processes, subject, count: context.transactions }, `nodes ${name} ${round}`),
      show: ({ landed, ms, sends }) => `${landed} landed, ${seconds(ms ?? 0).toFixed(1)} s, ${sends} sends`,
      say: context.say,
    })
    const figures = figuresFrom(values, context)
    const median = (measure: string) => medianOf(figures, measure, txlaneGiven.name)
    return {
      figures,
      checks: [
        atLeast(
          `landed of ${context.transactions.toLocaleString('en')}, each once`,
          median(LANDED),
          context.transactions,
        ),
        atLeast(
          "of the careful loop's rate",
          ratioOf(figures, SECONDS, careful.name, { subject: txlaneGiven.name }),
          0.9,
        ),
        atMost('raw transactions sent for each', median(SENDS), 1.02),
      ],
      curves: curvesFrom(values, context),
      notes: [
        `${context.transactions} transfers from one key, gas and fees given, on geth --dev --dev.period 1 --dev.gaslimit 300000000 with its pool as it is (${[...values.values()].flat()[0]?.version}). Each turn has a geth of its own and begins when a block has just come.`,
        'What has landed is read from the blocks, when from the moment at which the node showed them. Sends are counted by a proxy between library and node.',
        'The careful loop was written for this claim by someone who knows geth: it signs natively, sends batches of 100 in order, one at a time, and stays within 4,000 above the latest count. The bare loop posts batches over four connections.',
        ...failures,
      ],
    }
  },
}

const seconds = (ms: number) => ms / 1_000

async function turn({ file, processes, subject, count }: Parts, words: string): Promise<Turn> {
  await using node = await startGeth(file)
  await using proxy = await startNodeProxy(node.url)
  const fresh = await paidAccount(node, words)
  const { privateKey } = fresh
  try {
    await processes.open(subject, { url: proxy.url, privateKey, count, chain: node.chain })
    proxy.take()
    const begin = () => processes.burst(subject, { count })
    const options = { quietBlocks: QUIET_BLOCKS, limitMs: LIMIT_MS }
    const landing = await watchLanding({ node, fresh, count, begin, ...options })
    return { ...landing, sends: proxy.take().methods.eth_sendRawTransaction ?? 0, version: node.version }
  } finally {
    // Its node goes now: it would go on trying while others have their turns.
    await processes.close(subject)
  }
}

type Values = ReadonlyMap<string, readonly Turn[]>

function figuresFrom(values: Values, { transactions }: Context) {
  const of = (measure: string, unit: string, value: (turn: Turn) => number | undefined) =>
    figuresOf(
      { measure, unit },
      [...values].map(([name, turns]) => [name, turns.flatMap((one) => value(one) ?? [])] as const),
    )
  return [
    ...of(LANDED, `of ${transactions.toLocaleString('en')}`, ({ landed }) => landed),
    ...of(SECONDS, 'seconds', ({ ms }) => (ms === undefined ? undefined : seconds(ms))),
    ...of(POOLED, 'seconds', ({ pooledMs }) => (pooledMs === undefined ? undefined : seconds(pooledMs))),
    ...of(SENDS, 'for each transaction', ({ sends }) => sends / transactions),
  ]
}

/** Of each subject the round in which as many landed as in the middle one, and as late. */
function curvesFrom(values: Values, { transactions }: Context): Curves {
  const series = [...values].flatMap(([subject, turns]) => {
    const sorted = [...turns].sort((a, b) => a.landed - b.landed || (a.ms ?? 0) - (b.ms ?? 0))
    const middle = sorted[sorted.length >> 1]
    if (middle === undefined) return []
    const points = middle.points.map(([ms, landed]) => [seconds(ms), landed] as const)
    return [{ subject, points }]
  })
  return {
    name: 'landed',
    title: `${transactions.toLocaleString('en')} transfers on a stock geth: how many landed, and when`,
    x: 'seconds after the first send',
    unit: ' s',
    y: 'transfers in blocks',
    series,
  }
}
