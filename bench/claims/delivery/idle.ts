import type { Tx } from '../../../src/index.js'
import { type NodeProxy, startNodeProxy } from '../../../test/support/nodeProxy.js'
import { pause } from '../../../test/support/pause.js'
import { atMost, type Outcome } from '../../claim.js'
import { openSender } from '../../subjects/txlane.js'
import { CHAIN_ID, chainOf, freshAccount, givenTransfer, headOf, startNode } from '../../support/node.js'
import { sharedNowMs } from '../../support/sharedNow.js'
import { figuresOf } from '../../support/spread.js'
import { type PartContext, scaled } from './part.js'

const BLOCKS_MS = [12_000, 2_000, 200]
const SECONDS = 60
const SEND = 'eth_sendRawTransaction'
const WAITING = 'calls while one transaction waits'
const PER_BLOCK = 'the same for each block'
const LEARNING = 'the same for each block while the pace of the blocks is learnt'
const NOTHING = 'calls while nothing is open'
/** After this many blocks the lane knows when the next one comes: each halves the doubt, of 12 s at first. */
const LEARNING_SENDS = 10
/** Finality is only awaited on chains this fast: on slower ones it would take minutes. */
const FAST_MS = 200
const WATCHED_MS = 5_000

type Cost = {
  readonly name: string
  readonly perMinute: number
  readonly perBlock: number
  readonly learning: number
  /** Calls in five seconds. */
  readonly nothingOpen: number
}

/** The calls of a waiting lane: with exactly one open transaction, and with none. */
export async function idle(context: PartContext): Promise<Outcome> {
  const forMs = scaled(SECONDS, context) * 1_000
  // Measured concurrently, because each does almost nothing.
  const costs = await Promise.all(BLOCKS_MS.map((blockMs) => costOf(blockMs, forMs)))
  for (const { name, perMinute, perBlock, nothingOpen } of costs)
    context.say(
      `${name}: ${perMinute.toFixed(0)} calls a minute, ${perBlock.toFixed(2)} a block, then ${nothingOpen}`,
    )
  const figuresWith = (measure: string, unit: string, of: (cost: Cost) => number) =>
    figuresOf(
      { measure, unit },
      costs.map((cost) => [cost.name, [of(cost)]] as const),
    )
  return {
    figures: [
      ...figuresWith(WAITING, 'a minute', ({ perMinute }) => perMinute),
      ...figuresWith(PER_BLOCK, 'calls', ({ perBlock }) => perBlock),
      ...figuresWith(LEARNING, 'calls', ({ learning }) => learning),
      ...figuresWith(NOTHING, `in ${WATCHED_MS / 1_000} s`, ({ nothingOpen }) => nothingOpen),
    ],
    checks: costs.flatMap(({ name, perBlock, nothingOpen }) => [
      atMost(`calls a block while one transaction waits, ${name}`, Math.round(perBlock), 3),
      atMost(`calls while nothing is open, ${name}`, nothingOpen, 0),
    ]),
    notes: [
      `Idle cost: transfers in sequence for ${forMs / 1_000} s, each as soon as the previous one is in a block. The sends themselves are not counted: a block costs a header, a receipt, and the count in the batch of the send. Counting begins after ${LEARNING_SENDS} landed transfers. A lane has no open transaction when it is ready and has sent none, and, with blocks every 0.2 s, when all its transactions are final.`,
    ],
  }
}

async function costOf(blockMs: number, forMs: number): Promise<Cost> {
  await using node = await startNode(blockMs)
  await using proxy = await startNodeProxy(node.url)
  const { privateKey } = await freshAccount(node, `idle ${blockMs}`)
  const chain = chainOf(proxy.url, { id: CHAIN_ID, blockMs })
  const sender = openSender({ url: proxy.url, chain, privateKey })
  try {
    await sender.ready()
    const neverSent = await othersIn(proxy)
    let last = await sender.send(givenTransfer(1))
    await last.wait('sealed')
    let number = 1
    const blocksAndCalls = async (goesOn: () => boolean) => {
      proxy.take()
      const before = await headOf(node.rpc)
      while (goesOn()) {
        last = await sender.send(givenTransfer(++number))
        await last.wait('sealed')
      }
      return { calls: othersOf(proxy), blocks: (await headOf(node.rpc)) - before }
    }
    const learning = await blocksAndCalls(() => number <= LEARNING_SENDS)
    const beforeMs = sharedNowMs()
    const { calls, blocks } = await blocksAndCalls(() => sharedNowMs() - beforeMs < forMs)
    const tookMs = sharedNowMs() - beforeMs
    return {
      name: `blocks every ${blockMs / 1_000} s`,
      perMinute: (calls * 60_000) / tookMs,
      perBlock: calls / blocks,
      learning: learning.calls / learning.blocks,
      nothingOpen: neverSent + (blockMs > FAST_MS ? 0 : await whenFinal(last, proxy)),
    }
  } finally {
    await sender.close()
  }
}

/** Until the blocks of its transactions are final, a lane checks whether they are still canonical. */
async function whenFinal(last: Tx, proxy: NodeProxy): Promise<number> {
  await last.wait('finalized')
  return othersIn(proxy)
}

async function othersIn(proxy: NodeProxy): Promise<number> {
  proxy.take()
  await pause(WATCHED_MS)
  return othersOf(proxy)
}

function othersOf(proxy: NodeProxy): number {
  const { calls, methods } = proxy.take()
  return calls - (methods[SEND] ?? 0)
}
