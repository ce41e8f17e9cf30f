import { percentile } from '../support/statistics.js'
import type { Sample } from './sampler.js'

type Measured = 'heapBytes' | 'timers' | 'sockets' | 'handles'

/**
 * How much the end may exceed the beginning: by a share of it, and by an absolute amount for small values.
 */
export type Tolerance = { readonly share: number; readonly plus: number }

/**
 * Wide enough for normal variation: the transactions in flight vary with the faults, their timers and memory
 * with them, and the connections with the latency of the node. Narrow enough for a leak: one small object
 * per transaction, or one timer or connection in a hundred requests, exceeds these within ten minutes.
 */
const TOLERANCES: Readonly<Record<Measured, Tolerance>> = {
  heapBytes: { share: 0.1, plus: 2 * 1_024 * 1_024 },
  timers: { share: 0.25, plus: 8 },
  sockets: { share: 1, plus: 8 },
  handles: { share: 0, plus: 2 },
}

export type Flatness<measured extends string = Measured> = {
  readonly measured: measured
  /** Medians of the second and of the last sixth of the samples. */
  readonly early: number
  readonly late: number
  readonly most: number
  readonly flat: boolean
}

const SIXTHS = 6

export function flatness(samples: readonly Sample[]): readonly Flatness[] {
  return flatnessOf(samples, TOLERANCES)
}

/** Compares the last sixth with the second. In the first the caches fill, and nothing has ended yet. */
export function flatnessOf<measured extends string>(
  samples: readonly Readonly<Record<measured, number>>[],
  tolerances: Readonly<Record<measured, Tolerance>>,
): readonly Flatness<measured>[] {
  const sixth = (index: number) =>
    samples.slice(
      Math.floor((samples.length * index) / SIXTHS),
      Math.floor((samples.length * (index + 1)) / SIXTHS),
    )
  return (Object.keys(tolerances) as measured[]).map((measured) => {
    const median = (part: readonly Readonly<Record<measured, number>>[]) =>
      percentile(
        part.map((sample) => sample[measured]),
        0.5,
      ) ?? 0
    const [early, late] = [median(sixth(1)), median(sixth(SIXTHS - 1))]
    const { share, plus } = tolerances[measured]
    const most = early * (1 + share) + plus
    return { measured, early, late, most, flat: late <= most }
  })
}
