import { type Hex, hexToNumber } from 'viem'
import type { PlainRpc } from '../../test/demo/plainRpc.js'
import { pause } from '../../test/support/pause.js'
import { type Fresh, headOf, type Node, type TransfersOfBlock, transfersOf } from './node.js'
import { sharedNowMs } from './sharedNow.js'

/** Result of a burst, according to the blocks alone. */
export type Landing = {
  readonly landed: number
  /**
   * Time from the first send until the node showed the last block with a transfer; undefined if none landed.
   */
  readonly ms: number | undefined
  /**
   * Time from the first send until the node's pool had all transfers, because block times only differ by
   * whole blocks. Undefined if the pool never had all.
   */
  readonly pooledMs: number | undefined
  /** The same in blocks: 1 is the first block after the first send. */
  readonly blocks: number
  /** Number of landed transfers over time, from 0 on. */
  readonly points: readonly (readonly [ms: number, landed: number])[]
}

export type LandingOptions = {
  readonly node: Node
  readonly fresh: Fresh
  readonly count: number
  readonly begin: () => Promise<unknown>
  /** After the burst, this many blocks without another transfer mean that the rest is lost. */
  readonly quietBlocks: number
  readonly limitMs: number
}

const LOOK_MS = 15
/** Waits for the next block, so that every turn begins with the same distance to the following block. */
export async function nextBlock(rpc: PlainRpc): Promise<number> {
  const before = await headOf(rpc)
  for (;;) {
    const now = await headOf(rpc)
    if (now > before) return now
    await pause(LOOK_MS)
  }
}

/**
 * Begins a burst right after a block, and watches the node until all transfers have landed, or no more land.
 * A failure of `begin` is ignored: only landed transfers count.
 *
 * @throws Error if a transfer was executed twice
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

/**
 * The time at which each block was first seen, by number, and the time at which the `pending` count included
 * all.
 */
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

/** Evaluates the blocks. @throws Error if a transfer was executed twice */
export function landingOf(
  bodies: readonly TransfersOfBlock[],
  { firstHead, begunAtMs, seenAtMs, pooledAtMs }: Seen,
): Landing {
  const blocks = bodies.map(({ block, transfers }) => ({ block, transfers: transfers.filter(isPayment) }))
  const all = blocks.flatMap(({ transfers }) => transfers)
  if (new Set(all).size !== all.length) throw new Error('a transfer was executed twice')
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

/** A no-op that fills a gap has value 0. */
function isPayment(number: number): boolean {
  return number > 0
}

/** Several blocks may arrive between two polls: they get the time of the next block that was seen. */
function shownAtMs(block: number, seenAtMs: ReadonlyMap<number, number>): number {
  const seen = [...seenAtMs].filter(([number]) => number >= block).map(([, atMs]) => atMs)
  return Math.min(...seen)
}
