import type { Address } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { countsElsewhere } from './countsElsewhere.js'

/**
 * Decides when to believe a count that no body explains. One reading may come from a faulty backend.
 * Therefore two readings have to agree, at different blocks or some time apart, and no other endpoint may
 * contradict them. A believed count is revoked when a lower count is confirmed.
 */
export type CountBelief = {
  /** An earlier reading, at another block or long enough ago, had the same count. */
  confirms(count: number, head: number): boolean
  /** The lowest count below this one that another endpoint reports. */
  lowerElsewhere(count: number): Promise<number | undefined>
  /** The lowest count above this one that another endpoint reports. */
  higherElsewhere(count: number): Promise<number | undefined>
  forget(): void
}

/** Minimum time between two readings that agree, on a chain without empty blocks. */
const APART_MS = 3_000

export function createCountBelief(parts: {
  readonly clock: Clock
  readonly endpointPool: Pick<EndpointPool, 'others'>
  readonly address: Address
  readonly timeoutMs: number
}): CountBelief {
  const { clock, endpointPool, address, timeoutMs } = parts
  let first: { readonly count: number; readonly head: number; readonly atMs: number } | undefined

  function confirms(count: number, head: number): boolean {
    if (first === undefined || first.count !== count) {
      first = { count, head, atMs: clock.now() }
      return false
    }
    return head > first.head || clock.now() - first.atMs >= APART_MS
  }

  async function elsewhere(is: (other: number) => boolean): Promise<number | undefined> {
    const found = (await countsElsewhere(endpointPool, address, timeoutMs)).filter(is)
    return found.length === 0 ? undefined : Math.min(...found)
  }

  return {
    confirms,
    lowerElsewhere: (count) => elsewhere((other) => other < count),
    higherElsewhere: (count) => elsewhere((other) => other > count),
    forget() {
      first = undefined
    },
  }
}

/** The reason to doubt the read endpoint if another endpoint counts less, or more. */
export function contradiction(count: number, other: number): string {
  return `the endpoint counts ${count} used nonces, and another endpoint counts ${other}`
}
