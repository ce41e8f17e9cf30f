import { findGeth, NO_GETH } from '../../test/nodes/find/geth.js'
import { startNodeProxy } from '../../test/support/nodeProxy.js'
import { atLeast, atMost, type Claim, type Context, type Curves, medianOf, ratioOf } from '../claim.js'
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
/** A transaction that has not landed by then counts as lost. */
const LIMIT_MS = 90_000
/**
 * geth resubmits dropped local transactions every 10 s. After twice that time without one, the rest is lost.
 */
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
        `${context.transactions} transfers from one key, gas and fees given, on geth --dev --dev.period 1 --dev.gaslimit 300000000 with its default pool (${[...values.values()].flat()[0]?.version}). Each turn has its own geth and begins right after a block.`,
        'Landed transactions are read from the blocks, and their times are when the node showed those blocks. A proxy between library and node counts the sends.',
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
    // Its node ends now, and the subject would keep trying during the turns of the others.
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

/** The median round of each subject, ordered by the number of landed transactions, then by time. */
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
    title: `${transactions.toLocaleString('en')} transfers on a stock geth: landed transfers over time`,
    x: 'seconds after the first send',
    unit: ' s',
    y: 'transfers in blocks',
    series,
  }
}
