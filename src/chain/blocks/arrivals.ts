import type { Clock } from '../../platform/clock.js'
import type { SealedBlock } from './follower.js'
import type { Part } from './tickParts.js'

/** When sealed blocks came, and whether more are to be expected. */
export type Arrivals = {
  /** When the newest sealed block was seen first. */
  readonly headAtMs: number | undefined
  /** Milliseconds between sealed blocks, as observed. */
  readonly blockMs: number | undefined
  /** The least of the last ones. */
  readonly blockMsMin: number | undefined
  /**
   * The same by the timestamps of the two newest heads, which say more where few were observed: an endpoint that lags shows
   * its first one late. Undefined within one second.
   */
  readonly stampedMs: number | undefined
  /**
   * A local development node that makes a block only for a transaction has made none for `REST_MS`, and was seen to make
   * none: no child block will come until somebody sends something.
   */
  readonly isAtRest: boolean
  /** What to ask of the endpoint beside the head. */
  parts(): readonly Part[]
  /** Blocks joined the chain. `walked`: each is linked to one that was known before. */
  came(blocks: readonly SealedBlock[], walked: boolean): void
  /** The endpoint showed its newest block. */
  looked(): void
  /** Another endpoint is read. */
  elsewhere(): void
}

/** So many of the last times between blocks say how fast they come at the fastest. */
const GAPS_MAX = 16
/** Above the slot of every chain with a steady period that a development node is likely to imitate. */
const REST_MS = 15_000
/** The defaults of anvil and Hardhat (31337), and of `geth --dev` and Ganache (1337). */
const DEVELOPMENT_CHAINS: ReadonlySet<number> = new Set([31_337, 1_337])
/**
 * How these nodes begin their answer to `web3_clientVersion`, read from anvil 1.7.1, Hardhat 2.29 and Ganache 7.9. A fork
 * of another chain has that chain's id.
 */
const DEVELOPMENT_NODES = /^(anvil|HardhatNetwork|Ganache|EthereumJS TestRPC)\//

export type ArrivalsOptions = {
  readonly clock: Pick<Clock, 'now'>
  readonly chainId?: number
  /** What the endpoint that is read says that it is, where that is known. */
  readonly client?: () => string | undefined
}

export function createArrivals({ clock, chainId, client = () => undefined }: ArrivalsOptions): Arrivals {
  const isDevelopmentChain = chainId !== undefined && DEVELOPMENT_CHAINS.has(chainId)
  const gapsMs: number[] = []
  let headAtMs: number | undefined
  let blockMs: number | undefined
  let stampedMs: number | undefined
  let head: SealedBlock | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let madeEmptyBlock = false
  // Where nobody else has asked it.
  let asked: string | undefined

  const name = () => client() ?? asked
  const isSilent = () => headAtMs !== undefined && lookedAtMs - headAtMs >= REST_MS && !madeEmptyBlock

  return {
    get headAtMs() {
      return headAtMs
    },
    get blockMs() {
      return blockMs
    },
    get blockMsMin() {
      return gapsMs.length === 0 ? undefined : Math.min(...gapsMs)
    },
    get stampedMs() {
      return stampedMs
    },
    get isAtRest() {
      return isSilent() && (isDevelopmentChain || DEVELOPMENT_NODES.test(name() ?? ''))
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
    came(blocks, walked) {
      if (blocks.length === 0) return
      const nowMs = clock.now()
      if (headAtMs !== undefined) {
        const observed = (nowMs - headAtMs) / blocks.length
        blockMs = blockMs === undefined ? observed : blockMs * 0.75 + observed * 0.25
        gapsMs.push(observed)
        if (gapsMs.length > GAPS_MAX) gapsMs.shift()
      }
      headAtMs = nowMs
      const newest = blocks[blocks.length - 1]
      if (head && newest) stampedMs = stepMs(head, newest)
      head = newest
      if (walked && blocks.some(({ hashes }) => hashes.length === 0)) madeEmptyBlock = true
    },
    looked() {
      lookedAtMs = clock.now()
    },
    elsewhere() {
      asked = undefined
    },
  }
}

/** Milliseconds for each block between two of them; undefined where their timestamps show none. */
function stepMs(one: SealedBlock, other: SealedBlock): number | undefined {
  const ms = (1_000 * (other.timestamp - one.timestamp)) / (other.number - one.number)
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}
