import { type NodeProxy, startNodeProxy } from '../../test/support/nodeProxy.js'
import { atMost, type Claim, type Context, medianOf } from '../claim.js'
import { ethersDefault } from '../subjects/ethers.js'
import { mudDefault } from '../subjects/mud.js'
import { txlaneDefault, txlaneGiven } from '../subjects/txlane.js'
import type { Subject } from '../subjects/types.js'
import { viemBatched, viemDefault, viemGiven } from '../subjects/viem.js'
import { chainOf, freshAccount, type Node, requireOnce, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const OURS = [txlaneDefault, txlaneGiven]
const SUBJECTS = [...OURS, viemDefault, viemGiven, viemBatched, ethersDefault, mudDefault]
// A peer's number of requests per transaction does not depend on the number of transactions.
const PEERS_MAX = 500

type Each = { readonly calls: number; readonly requests: number }

const nameOf = ({ name, given }: Subject) => (given === 'nothing' ? name : `${name}, gas and fees given`)

export const claim: Claim = {
  says: 'A burst needs almost no requests to the node besides the sends.',
  transactions: 5_000,
  async run(context) {
    await using node = await startNode()
    await using proxy = await startNodeProxy(node.url)
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS.map((subject) => ({ name: nameOf(subject), subject })),
      rounds: context.rounds,
      run: ({ name, subject }, { round }) =>
        countBurst(node, proxy, subject, `requests ${name} ${round}`, round, context),
      show: ({ calls, requests }) => `${calls.toFixed(3)} calls in ${requests.toFixed(3)} HTTP requests each`,
      say: context.say,
    })
    const figures = (['calls', 'requests'] as const).flatMap((what) =>
      figuresOf(
        { measure: MEASURES[what], unit: 'for each transaction' },
        [...values].map(([name, all]) => [name, all.map((one) => one[what])] as const),
      ),
    )
    const median = (what: keyof Each, subject: Subject) => medianOf(figures, MEASURES[what], nameOf(subject))
    return {
      figures,
      checks: [
        atMost('calls for each transaction, gas and fees given', median('calls', txlaneGiven), 1.02),
        atMost('HTTP requests for each, gas and fees given', median('requests', txlaneGiven), 0.05),
        atMost('calls for each transaction, nothing given', median('calls', txlaneDefault), 2.05),
      ],
      notes: [
        'A proxy between library and node counts them from the first send to the last acceptance, including polls.',
        `${context.transactions} transfers from one key, for the peers ${Math.min(PEERS_MAX, context.transactions)}; each found once in the blocks.`,
        ...failures,
      ],
    }
  },
}

const MEASURES = { calls: 'JSON-RPC calls', requests: 'HTTP requests' } as const

async function countBurst(
  node: Node,
  proxy: NodeProxy,
  subject: Subject,
  words: string,
  round: number,
  { transactions }: Context,
): Promise<Each> {
  const isShort = round === 0 || !OURS.includes(subject)
  const count = isShort ? Math.min(PEERS_MAX, transactions) : transactions
  const fresh = await freshAccount(node, words)
  const chain = chainOf(proxy.url)
  const driver = await subject.open({ url: proxy.url, chain, privateKey: fresh.privateKey, count })
  try {
    await driver.ready?.()
    proxy.take()
    await driver.burst(count)
    const { calls, requests } = proxy.take()
    await requireOnce(node, fresh, count)
    return { calls: calls / count, requests: requests / count }
  } finally {
    await driver.close()
  }
}
