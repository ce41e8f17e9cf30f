import type { EventName } from '../read/event.js'
import { firstAt, type History } from './history.js'

/** Stages whose latency is measured: from the admission by `send` to the first event of the stage. */
export const LATENCY_STAGES = ['accepted', 'preconfirmed', 'sealed'] as const
type LatencyStage = (typeof LATENCY_STAGES)[number]

type Spread = { readonly count: number } & Readonly<Record<'p50' | 'p90' | 'p99' | 'max', number>>

export type Latency = {
  /** Absent if no transaction reached the stage. */
  readonly spreads: Partial<Record<LatencyStage, Spread>>
  readonly histogram: Histogram
}

/** Number of samples between two edges. Each edge is a constant factor above the previous one. */
export type Histogram = {
  readonly edgesMs: readonly number[]
  readonly counts: Record<LatencyStage, readonly number[]>
}

export function latencyOf(histories: readonly History[]): Latency {
  const samples = Object.fromEntries(
    LATENCY_STAGES.map((stage) => [stage, samplesOf(histories, stage)]),
  ) as Record<LatencyStage, readonly number[]>
  const spreads = Object.fromEntries(
    LATENCY_STAGES.flatMap((stage) => {
      const spread = spreadOf(samples[stage])
      return spread ? [[stage, spread]] : []
    }),
  ) as Latency['spreads']
  return { spreads, histogram: histogramOf(samples) }
}

/** Sorted latencies. A transaction from before the recording has no start time. */
function samplesOf(histories: readonly History[], stage: EventName): readonly number[] {
  const samples: number[] = []
  for (const history of histories) {
    const [sentAt, reachedAt] = [firstAt(history, 'queued'), firstAt(history, stage)]
    // A clock that was set back gives no valid latency.
    if (sentAt !== undefined && reachedAt !== undefined && reachedAt >= sentAt)
      samples.push(reachedAt - sentAt)
  }
  return samples.sort((a, b) => a - b)
}

function spreadOf(sorted: readonly number[]): Spread | undefined {
  const max = sorted.at(-1)
  if (max === undefined) return undefined
  const at = (share: number) => percentileOfSorted(sorted, share) ?? max
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max }
}

// Three bins per doubling: narrow enough to show two peaks, wide enough for useful counts.
const FACTOR = 2 ** (1 / 3)

function histogramOf(samples: Record<LatencyStage, readonly number[]>): Histogram {
  const all = LATENCY_STAGES.flatMap((stage) => [samples[stage][0], samples[stage].at(-1)]).filter(
    (one) => one !== undefined,
  )
  if (all.length === 0) return { edgesMs: [], counts: { accepted: [], preconfirmed: [], sealed: [] } }
  const bins = binOf(Math.max(...all)) - binOf(Math.min(...all)) + 1
  const first = binOf(Math.min(...all))
  const counts = Object.fromEntries(
    LATENCY_STAGES.map((stage) => {
      const inBins = new Array<number>(bins).fill(0)
      for (const ms of samples[stage]) inBins[binOf(ms) - first] = (inBins[binOf(ms) - first] ?? 0) + 1
      return [stage, inBins]
    }),
  ) as unknown as Histogram['counts']
  return { edgesMs: Array.from({ length: bins + 1 }, (_, bin) => edge(first + bin)), counts }
}

/** All values up to a millisecond share one bin, because the clocks have no finer resolution. */
function binOf(ms: number): number {
  return ms <= 1 ? 0 : Math.floor(Math.log(ms) / Math.log(FACTOR) + 1e-9)
}

function edge(bin: number): number {
  return bin === 0 ? 0 : FACTOR ** bin
}

/** The smallest value at or below which the given share of the sorted values lies. Undefined without values. */
export function percentileOfSorted(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]
}
