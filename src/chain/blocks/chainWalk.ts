import type { Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import type { SealedBlock } from './follower.js'

/**
 * The chain as far as it was walked: blocks linked by parent hashes, the newest `length` of them. Pure but for
 * what it is asked to fetch.
 */
export type Walk = {
  readonly tip: SealedBlock | undefined
  hashAt(number: number): Hash | undefined
  /**
   * Asks for the walk to know a block below where it began, linked to what is above it: `advance` fetches downwards.
   * False for one that is further back than the walk remembers.
   */
  reach(number: number): boolean
  /**
   * Goes back to the newest walked block that the endpoint still shows, and on to `latest`, which is below the tip: the
   * chain was reset, or reorganised to a shorter one. Resolves as `advance` does.
   */
  rewind(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
  /**
   * Joins `latest` to what is known, or the blocks below it as far as they could be had. Resolves with what left and what
   * came, in order; `undefined`: ask again later.
   */
  advance(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined>
}

export type Advance = {
  /** From the tip downwards. */
  readonly left: readonly BlockRef[]
  /** Upwards, ending with the new tip. */
  readonly came: readonly SealedBlock[]
  /** Blocks were skipped: what was sealed in them is found by counts and evidence. */
  readonly jumped: boolean
}

/**
 * Fetches blocks by number; `undefined` where one of them could not be had. What links to a block of ours is ours,
 * whoever shows it; anything else has to be `shown` by an endpoint that shows that it is on our chain.
 */
export type FetchBlocks = (
  numbers: readonly number[],
  how: 'linked' | 'shown',
) => Promise<readonly SealedBlock[] | undefined>

/** Missed blocks that are walked one by one; beyond it the walk begins anew at the head. */
const MISSED_MAX = 256
const FETCH_AT_ONCE = 32

export function createWalk(options: { length: number }): Walk {
  const blocks = new Map<number, SealedBlock>()
  let tip: SealedBlock | undefined
  // Blocks that are asked for at once. A head that does not join is shown at each look, and most of its blocks may be none.
  let atOnce = FETCH_AT_ONCE
  // How far down somebody wants to know the chain.
  let reachTo = Number.POSITIVE_INFINITY

  function join(came: readonly SealedBlock[]): void {
    for (const block of came) {
      blocks.set(block.number, { ...block, hashes: [] })
      tip = block
    }
    if (tip === undefined) return
    for (const number of blocks.keys()) {
      if (number > tip.number - options.length) break
      blocks.delete(number)
    }
  }

  function leave(from: number): BlockRef[] {
    const left: BlockRef[] = []
    for (let number = tip?.number ?? -1; number >= from; number--) {
      const block = blocks.get(number)
      if (block) left.push({ number, hash: block.hash })
      blocks.delete(number)
    }
    return left
  }

  function restart(latest: SealedBlock): Advance {
    blocks.clear()
    const jumped = tip !== undefined
    join([latest])
    return { left: [], came: [latest], jumped }
  }

  /**
   * Too much was missed to walk it: only what left meanwhile is found out, from the old tip downwards. Nothing links the
   * new head to ours, so it has to be shown by the very answer that shows ours.
   */
  async function jump(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    let fork = (tip?.number ?? 0) + 1
    while (fork > oldest()) {
      const first = Math.max(oldest(), fork - atOnce)
      const numbers = Array.from({ length: fork - first }, (_, index) => first + index)
      const fetched = await fetch([...numbers, latest.number], 'shown')
      if (fetched === undefined || !isSame(fetched.at(-1), latest)) return undefined
      atOnce = Math.min(2 * atOnce, FETCH_AT_ONCE)
      const same = fetched.findLastIndex((block) => blocks.get(block.number)?.hash === block.hash)
      fork = first + same + 1
      if (same >= 0) break
    }
    const left = leave(fork)
    return { ...restart(latest), left }
  }

  const standsOnWalked = (block: SealedBlock) => blocks.get(block.number - 1)?.hash === block.parentHash

  function oldest(): number {
    for (const number of blocks.keys()) return number
    return 0
  }

  /**
   * The missed blocks from the tip upwards, and `latest` on top of them. What was fetched before one could not be had is
   * kept: an endpoint that loses every other request would never be caught up with. Where the tip has left the chain none
   * comes, and `fork` is what was read of the other one below `latest`.
   */
  async function climb(
    from: SealedBlock,
    latest: SealedBlock,
    fetch: FetchBlocks,
  ): Promise<{ readonly came: readonly SealedBlock[]; readonly fork: readonly SealedBlock[] } | undefined> {
    const came: SealedBlock[] = []
    const part = { came, fork: [] }
    let below = from
    while (below.number + 1 < latest.number) {
      const count = Math.min(latest.number - 1 - below.number, atOnce)
      const numbers = Array.from({ length: count }, (_, index) => below.number + 1 + index)
      const fetched = await fetch(numbers, 'linked')
      if (fetched === undefined) return came.length === 0 ? undefined : part
      if (!linked([below, ...fetched])) return linked([...fetched, latest]) ? { came, fork: fetched } : part
      came.push(...fetched)
      below = fetched.at(-1) ?? below
      atOnce = Math.min(2 * atOnce, FETCH_AT_ONCE)
    }
    return linked([below, latest]) ? { came: [...came, latest], fork: [] } : part
  }

  /** Fills `came` downwards until one of its blocks stands on a walked one. */
  async function link(came: SealedBlock[], fetch: FetchBlocks): Promise<'linked' | 'unknown' | 'lost'> {
    for (;;) {
      const lowest = came[0]
      if (lowest === undefined) return 'unknown'
      if (came.some(standsOnWalked)) return 'linked'
      const known = tip?.number ?? 0
      if (lowest.number <= oldest()) return 'lost'
      // A gap is fetched many at a time; below the tip, a fork is walked down in growing steps.
      const missing = lowest.number - 1 - known
      const step = missing > 0 ? Math.min(missing, atOnce) : Math.min(came.length, FETCH_AT_ONCE)
      const first = Math.max(0, lowest.number - Math.max(1, step))
      const numbers = Array.from({ length: lowest.number - first }, (_, index) => first + index)
      const fetched = await fetch(numbers, 'linked')
      if (fetched === undefined || !linked([...fetched, lowest])) return 'unknown'
      came.unshift(...fetched)
      atOnce = Math.min(2 * atOnce, FETCH_AT_ONCE)
    }
  }

  /** A step down towards what is wanted. What does not link is asked for again with the next advance. */
  async function extend(fetch: FetchBlocks): Promise<void> {
    const above = blocks.get(oldest())
    if (above === undefined || reachTo >= above.number) return
    const first = Math.max(reachTo, above.number - FETCH_AT_ONCE)
    const numbers = Array.from({ length: above.number - first }, (_, index) => first + index)
    const fetched = await fetch(numbers, 'linked')
    if (fetched === undefined || !linked([...fetched, above])) return
    const known = [...blocks]
    blocks.clear()
    for (const block of fetched) blocks.set(block.number, { ...block, hashes: [] })
    for (const [number, block] of known) blocks.set(number, block)
  }

  return {
    get tip() {
      return tip
    },
    hashAt: (number) => blocks.get(number)?.hash,
    reach(number) {
      if (tip !== undefined && number <= tip.number - options.length) return false
      reachTo = Math.min(reachTo, Math.max(0, number))
      return true
    },
    rewind,
    async advance(latest, fetch) {
      const moved = await step(latest, fetch)
      atOnce = moved ? FETCH_AT_ONCE : 1
      await extend(fetch)
      return moved
    },
  }

  /**
   * Nothing links a tip to begin with to what is known: it has to be shown by its number too, lest one wrong answer be taken
   * for the chain. To be shown as the newest once more is not enough, since whoever errs there errs again.
   */
  async function begin(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const shown = await fetch([latest.number], 'shown')
    if (!isSame(shown?.[0], latest)) return undefined
    const left = leave(0)
    return { ...restart(latest), left }
  }

  async function rewind(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const fork = await ancestorOf(latest, fetch)
    if (fork === undefined) return undefined
    if (!blocks.has(fork)) return begin(latest, fetch)
    const left = leave(fork + 1)
    tip = blocks.get(fork)
    const on = await step(latest, fetch)
    return { left, came: on?.came ?? [], jumped: false }
  }

  /** The number of the newest walked block that stands on the chain of `latest`; -1 for none. */
  async function ancestorOf(latest: SealedBlock, fetch: FetchBlocks): Promise<number | undefined> {
    for (let end = latest.number + 1; end > oldest(); end = Math.max(oldest(), end - FETCH_AT_ONCE)) {
      const first = Math.max(oldest(), end - FETCH_AT_ONCE)
      const numbers = Array.from({ length: end - first }, (_, index) => first + index)
      const fetched = await fetch(numbers, 'shown')
      if (fetched === undefined) return undefined
      const same = fetched.findLastIndex((block) => blocks.get(block.number)?.hash === block.hash)
      if (same >= 0) return first + same
    }
    return -1
  }

  async function step(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    if (tip === undefined) return begin(latest, fetch)
    // A replica that lags shows an older head. Only a chain at least as long says anything about ours.
    if (latest.number < tip.number || latest.hash === tip.hash) return { left: [], came: [], jumped: false }
    if (latest.number - tip.number > MISSED_MAX) return jump(latest, fetch)
    const climbed = await climb(tip, latest, fetch)
    if (climbed === undefined) return undefined
    if (climbed.came.length > 0) {
      join(climbed.came)
      return { left: [], came: climbed.came, jumped: false }
    }
    const came = [...climbed.fork, latest]
    const result = await link(came, fetch)
    if (result === 'unknown') return undefined
    if (result === 'lost') return begin(latest, fetch)
    const fresh = came.slice(came.findLastIndex(standsOnWalked))
    const left = leave(fresh[0]?.number ?? latest.number)
    join(fresh)
    return { left, came: fresh, jumped: false }
  }
}

/** Its parent counts too: nothing above has shown it, and what is below is linked by it. */
function isSame(shown: SealedBlock | undefined, latest: SealedBlock): boolean {
  return shown?.hash === latest.hash && shown.parentHash === latest.parentHash
}

function linked(chain: readonly SealedBlock[]): boolean {
  return chain.every((block, index) => {
    const below = chain[index - 1]
    return below === undefined || (block.parentHash === below.hash && block.number === below.number + 1)
  })
}
