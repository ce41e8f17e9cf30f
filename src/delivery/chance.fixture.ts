import type { NetworkOptions } from './networkOptions.fixture.js'

export type Losses = {
  /** How often the network or the node lost something. */
  events: number
  /** Copies of transactions that never entered the pool, or were dropped from it, and lost answers. */
  copies: number
}

/** The faults of a network and its node, and a count of them. */
export type Chance = {
  random(): number
  happens(chance: number): boolean
  lose(transactions: number): void
  /**
   * The time of a message. If it arrives much later than the others it counts as lost, with all its
   * transactions.
   */
  wayMs(transactions?: number): number
  readonly losses: Losses
}

const LATE_FACTOR = 20

export function createChance({ seed, faults, latencyMs, jitterMs }: NetworkOptions): Chance {
  const random = createRandom(seed)
  const losses: Losses = { events: 0, copies: 0 }
  const happens = (chance: number) => chance > 0 && random() < chance

  function lose(transactions: number): void {
    losses.events++
    losses.copies += transactions
  }

  return {
    random,
    happens,
    lose,
    wayMs(transactions = 0) {
      const ms = latencyMs + random() * jitterMs
      if (!happens(faults.late)) return ms
      lose(transactions)
      return ms * LATE_FACTOR
    },
    losses,
  }
}

/** mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
