import { firstAt, type History } from './history.js'

const THROUGHPUT_STAGES = ['sent', 'accepted', 'sealed'] as const
export type ThroughputStage = (typeof THROUGHPUT_STAGES)[number]

/** Transactions per second for each stage, in bins of equal width. */
export type Throughput = {
  readonly startedAt: number
  readonly binMs: number
  readonly perSecond: Record<ThroughputStage, readonly number[]>
}

const EVENTS = { sent: 'queued', accepted: 'accepted', sealed: 'sealed' } as const
const BINS_MAX = 600
// Readable bin widths, in milliseconds.
const WIDTHS = [1, 2, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400].map((seconds) => seconds * 1_000)

export function throughputOf(histories: readonly History[], startedAt: number, endedAt: number): Throughput {
  const spanMs = Math.max(1, endedAt - startedAt)
  const wanted = WIDTHS.find((width) => spanMs / width <= BINS_MAX)
  const binMs = wanted ?? Math.ceil(spanMs / BINS_MAX / 86_400_000) * 86_400_000
  const bins = Math.floor(spanMs / binMs) + 1
  const perSecond = Object.fromEntries(
    THROUGHPUT_STAGES.map((stage) => {
      const counts = new Array<number>(bins).fill(0)
      for (const history of histories) {
        const at = firstAt(history, EVENTS[stage])
        if (at === undefined) continue
        const bin = Math.floor((at - startedAt) / binMs)
        counts[bin] = (counts[bin] ?? 0) + 1
      }
      return [stage, counts.map((count) => count / (binMs / 1_000))]
    }),
  ) as unknown as Throughput['perSecond']
  return { startedAt, binMs, perSecond }
}
