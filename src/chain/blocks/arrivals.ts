import type { BlockRef } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { createBlockAges } from './blockAges.js'
import type { SealedBlock } from './follower.js'
import { createPeriod, datedMs } from './period.js'
import type { Part } from './tickParts.js'

/** The arrival times of sealed blocks, and whether more are to be expected. */
export type Arrivals = {
  /** When the newest sealed block was first seen. */
  readonly headAtMs: number | undefined
  /** The time between sealed blocks in milliseconds: the median of the last times. */
  readonly blockMs: number | undefined
  /** The exact time between two blocks, if they come at a steady pace. */
  readonly steadyMs: number | undefined
  /**
   * The time between blocks by the timestamps of the two newest heads. It is more accurate if few blocks were
   * observed, because a lagging endpoint shows its first block late. Undefined if both timestamps are in the
   * same second.
   */
  readonly stampedMs: number | undefined
  /**
   * True for a local development node that makes a block only for a transaction: it has made none for
   * `REST_MS`, and never made an empty one. It will make no further block until a transaction is sent.
   */
  readonly isAtRest: boolean
  /**
   * The highest block that this process has seen on the chain for `STOOD_MS`, without a break; -1 if there is
   * none. Time is measured by arrival: timestamps have whole seconds, which five blocks of a fast chain share,
   * and a sequencer that catches up dates its blocks back. It does not pass while the next block is overdue:
   * an endpoint that stands still may stand on a branch that the chain has left.
   */
  readonly stoodUpTo: number
  /** The calls to send to the endpoint next to the head. */
  parts(): readonly Part[]
  /**
   * Blocks joined the chain. `walked`: each is linked to a block that was known before. `seenMs`: when the
   * newest was read. `sinceMs`: it came after this time.
   */
  came(
    blocks: readonly SealedBlock[],
    walked: boolean,
    at: { readonly seenMs: number; readonly sinceMs?: number | undefined },
  ): void
  /** Blocks left the chain. */
  left(blocks: readonly BlockRef[]): void
  /** The endpoint showed its newest block, which was read at this time. */
  looked(readMs: number): void
  /** Another endpoint is read from now on. */
  elsewhere(): void
}

/** Longer than the slot of every chain with a steady period that a development node is likely to imitate. */
const REST_MS = 15_000
const SECOND_MS = 1_000
/** How long a single sequencer's block has to stand, next to having a child, before it proves an end. */
const STOOD_MS = 2_000
/** The defaults of anvil and Hardhat (31337), and of `geth --dev` and Ganache (1337). */
const DEVELOPMENT_CHAINS: ReadonlySet<number> = new Set([31_337, 1_337])
/**
 * The prefixes of these nodes' answers to `web3_clientVersion`, read from anvil 1.7.1, Hardhat 2.29 and
 * Ganache 7.9. A fork of another chain has that chain's id.
 */
const DEVELOPMENT_NODES = /^(anvil|HardhatNetwork|Ganache|EthereumJS TestRPC)\//

export type ArrivalsOptions = {
  readonly clock: Pick<Clock, 'now'>
  readonly chainId?: number
  /** The client version of the endpoint that is read, if it is known. */
  readonly client?: () => string | undefined
}

export function createArrivals({ clock, chainId, client = () => undefined }: ArrivalsOptions): Arrivals {
  const isDevelopmentChain = chainId !== undefined && DEVELOPMENT_CHAINS.has(chainId)
  const period = createPeriod()
  const ages = createBlockAges(STOOD_MS)
  // The time for which the chain has moved, up to the arrival of the newest block.
  let movedMs = 0
  let headAtMs: number | undefined
  let stampedMs: number | undefined
  let head: SealedBlock | undefined
  // The first head that was seen.
  let first: SealedBlock | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  // The last poll that did not show the newest block.
  let unseenMs = Number.NEGATIVE_INFINITY
  let madeEmptyBlock = false
  // The version that this module read itself, if `client` does not know it.
  let asked: string | undefined

  const name = () => client() ?? asked
  /** The time since the newest block arrived, without the time for which the next blocks are overdue. */
  const sinceHeadMs = (nowMs: number, blocks: number) =>
    Math.max(0, Math.min(nowMs - (headAtMs ?? nowMs), blocks * blockMsMax()))
  // Few arrivals say little: an endpoint that froze shows a block late. The timestamps bound the time then.
  const blockMsMax = () => period.steadyMs ?? Math.min(period.medianMs ?? 0, datedMsMax(first, head))
  const isSilent = () => headAtMs !== undefined && lookedAtMs - headAtMs >= REST_MS && !madeEmptyBlock

  return {
    get headAtMs() {
      return headAtMs
    },
    get blockMs() {
      return period.medianMs
    },
    get steadyMs() {
      return period.steadyMs
    },
    get stampedMs() {
      return stampedMs
    },
    get isAtRest() {
      return isSilent() && (isDevelopmentChain || DEVELOPMENT_NODES.test(name() ?? ''))
    },
    get stoodUpTo() {
      return ages.oldUpTo(movedMs + sinceHeadMs(clock.now(), 1))
    },
    parts() {
      if (!isSilent() || isDevelopmentChain || name() !== undefined) return []
      return [
        {
          call: { method: 'web3_clientVersion', params: [] },
          take(reply) {
            asked = reply.ok && typeof reply.result === 'string' ? reply.result : ''
          },
        },
      ]
    },
    came(blocks, walked, { seenMs, sinceMs = unseenMs }) {
      const newest = blocks[blocks.length - 1]
      if (newest === undefined) return
      period.came(newest, seenMs, Math.min(seenMs, Math.max(sinceMs, unseenMs)))
      movedMs += sinceHeadMs(seenMs, blocks.length)
      ages.add(newest.number, movedMs)
      headAtMs = seenMs
      if (head) stampedMs = stepMs(head, newest)
      head = newest
      first ??= newest
      if (walked && blocks.some(({ hashes }) => hashes.length === 0)) madeEmptyBlock = true
    },
    left(blocks) {
      for (const block of blocks) ages.left(block)
    },
    looked(readMs) {
      unseenMs = lookedAtMs
      lookedAtMs = readMs
    },
    elsewhere() {
      asked = undefined
      period.elsewhere()
    },
  }
}

/** The maximum time for each block between two blocks by their timestamps, which may have whole seconds. */
function datedMsMax(one: SealedBlock | undefined, other: SealedBlock | undefined): number {
  if (one === undefined || other === undefined || other.number <= one.number) return Number.POSITIVE_INFINITY
  const isExact = one.timestampMs !== undefined && other.timestampMs !== undefined
  return (datedMs(other) - datedMs(one) + (isExact ? 0 : SECOND_MS)) / (other.number - one.number)
}

/** Milliseconds per block between two blocks; undefined if their timestamps show no difference. */
function stepMs(one: SealedBlock, other: SealedBlock): number | undefined {
  const ms = (1_000 * (other.timestamp - one.timestamp)) / (other.number - one.number)
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}
