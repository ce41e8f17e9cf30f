import { type Hex, hexToNumber } from 'viem'
import type { PlainRpc } from '../../src/cli/demo/plainRpc.js'
import { pause } from '../../test/support/pause.js'
import { type Fresh, headOf, type Node, type TransfersOfBlock, transfersOf } from './node.js'
import { sharedNowMs } from './sharedNow.js'

/** What became of a burst, by the blocks alone. */
export type Landing = {
  readonly landed: number
  /** From the first send until the node showed the last block that holds one. Undefined where none landed. */
  readonly ms: number | undefined
  /**
   * From the first send until the node's pool had all: blocks alone tell bursts apart by whole blocks. Undefined where it
   * never had them.
   */
  readonly pooledMs: number | undefined
  /** The same, counted in blocks: 1 is the first that came after the first send. */
  readonly blocks: number
  /** How many had landed after so many milliseconds, from 0 on. */
  readonly points: readonly (readonly [ms: number, landed: number])[]
}

export type LandingOptions = {
  readonly node: Node
  readonly fresh: Fresh
  readonly count: number
  readonly begin: () => Promise<unknown>
  /** No block more with one of them for so long, once all were accepted: the others are lost. */
  readonly quietBlocks: number
  readonly limitMs: number
}

const LOOK_MS = 15
/** Where a block has just come: the next one is as far away for everybody. */
export async function nextBlock(rpc: PlainRpc): Promise<number> {
  const before = await headOf(rpc)
  for (;;) {
    const now = await headOf(rpc)
    if (now > before) return now
    await pause(LOOK_MS)
  }
}

/**
 * Begins a burst when a block has just come, and watches the node until all of it has landed, or nothing more does. What
 * `begin` fails with is of no consequence: what has landed is counted.
 *
 * @throws Error where one was executed twice
 */
export async function watchLanding(options: LandingOptions): Promise<Landing> {
  const { node, fresh, begin } = options
  const firstHead = await nextBlock(node.rpc)
  const begunAtMs = sharedNowMs()
  const burst = { isOver: false }
  const over = () => {
    burst.isOver = true
  }
  begin().then(over, over)
  const watched = await watchBlocks(options, burst, begunAtMs)
  const head = Math.max(firstHead, ...watched.seenAtMs.keys())
  return landingOf(await transfersOf(node, fresh, head), { firstHead, begunAtMs, ...watched })
}

/** When each block was first seen, by its number; and when the `pending` count had all. */
async function watchBlocks(
  { node: { rpc }, fresh, count, quietBlocks, limitMs }: LandingOptions,
  burst: { readonly isOver: boolean },
  begunAtMs: number,
): Promise<Pick<Seen, 'seenAtMs' | 'pooledAtMs'>> {
  const counts = (['latest', 'pending'] as const).map((block): [string, Hex, string] => [
    'eth_getTransactionCount',
    fresh.address,
    block,
  ])
  const seenAtMs = new Map<number, number>()
  let pooledAtMs: number | undefined
  let [used, grownAt] = [0, 0]
  while (sharedNowMs() - begunAtMs < limitMs) {
    const [head, landed, pooled] = (await rpc.all([['eth_blockNumber'], ...counts])).map((value) =>
      hexToNumber(value as Hex),
    ) as [number, number, number]
    if (pooled >= count) pooledAtMs ??= sharedNowMs()
    if (!seenAtMs.has(head)) seenAtMs.set(head, sharedNowMs())
    if (landed > used || !burst.isOver) grownAt = head
    used = Math.max(used, landed)
    if (used >= count || head - grownAt >= quietBlocks) break
    await pause(LOOK_MS)
  }
  return { seenAtMs, pooledAtMs }
}

type Seen = {
  readonly firstHead: number
  readonly begunAtMs: number
  readonly seenAtMs: ReadonlyMap<number, number>
  readonly pooledAtMs: number | undefined
}

/** What the blocks say. @throws Error where one was executed twice */
export function landingOf(
  bodies: readonly TransfersOfBlock[],
  { firstHead, begunAtMs, seenAtMs, pooledAtMs }: Seen,
): Landing {
  const blocks = bodies.map(({ block, transfers }) => ({ block, transfers: transfers.filter(isPayment) }))
  const all = blocks.flatMap(({ transfers }) => transfers)
  if (new Set(all).size !== all.length) throw new Error('one was executed twice')
  const points: (readonly [number, number])[] = [[0, 0]]
  let [landed, last] = [0, firstHead]
  for (const { block, transfers } of blocks) {
    if (transfers.length === 0) continue
    landed += transfers.length
    last = block
    points.push([shownAtMs(block, seenAtMs) - begunAtMs, landed])
  }
  return {
    landed,
    ms: landed === 0 ? undefined : points.at(-1)?.[0],
    pooledMs: pooledAtMs === undefined ? undefined : pooledAtMs - begunAtMs,
    blocks: last - firstHead,
    points,
  }
}

/** What fills a gap pays nothing. */
function isPayment(number: number): boolean {
  return number > 0
}

/** Between two looks several blocks may come: then it is the time of the next one that was seen. */
function shownAtMs(block: number, seenAtMs: ReadonlyMap<number, number>): number {
  const seen = [...seenAtMs].filter(([number]) => number >= block).map(([, atMs]) => atMs)
  return Math.min(...seen)
}
