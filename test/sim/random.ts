import type { Random } from '../../src/platform/clock.js'

/** A stream of numbers in [0, 1) that depends only on the seed (mulberry32). Not for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A separate stream for one part of a run. With a shared stream, parts would change each other's draws: one
 * more draw in the sender under test would make a different chain.
 */
export function deriveRandom(seed: number, part: string): Random {
  let hash = 2_166_136_261 ^ seed
  for (let index = 0; index < part.length; index++)
    hash = Math.imul(hash ^ part.charCodeAt(index), 16_777_619)
  return createRandom(Math.imul(hash ^ (hash >>> 16), 0x45d9f3b))
}

/** True with the given probability; draws nothing if it is 0, so that a healed run is quick. */
export function chance(random: Random, probability: number): boolean {
  return probability > 0 && random() < probability
}

/** An integer from `min` to `max`, both included. */
export function between(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1))
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T
}

/** In place. */
export function shuffle<T>(random: Random, items: T[]): void {
  for (let at = items.length - 1; at > 0; at--) {
    const other = between(random, 0, at)
    ;[items[at], items[other]] = [items[other] as T, items[at] as T]
  }
}
