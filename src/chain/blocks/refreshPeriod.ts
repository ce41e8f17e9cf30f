/**
 * Learns the time between two refreshes of a pending block. A refresh without a new transaction is not shown, and
 * refreshes have no numbers, so the time between two shown ones is an unknown number of periods: the learned
 * period is the longest one at whose steps all shown refreshes fall.
 */
export type RefreshPeriod = {
  /**
   * Milliseconds between two polls: one refresh, or as many as make up the cadence. The cadence itself while no
   * period is known.
   */
  readonly ms: number
  /** Close polls after a send are needed to learn the period: at the start, and once a minute. */
  isLearning(nowMs: number): boolean
  /**
   * A poll: when the endpoint read its state, and a fingerprint of what it showed. `isClose`: it was made for
   * learning. Returns whether `ms` has changed.
   */
  looked(readMs: number, sign: string, isClose: boolean): boolean
  /** Another endpoint is read, which shows its refreshes at other times. */
  elsewhere(): void
}

/** A refresh came in this time, in milliseconds. */
type Span = { readonly middleMs: number; readonly widthMs: number }

/** Close polls show no shorter period, and no known chain has a longer one. */
const PERIOD_MS_MIN = 80
const PERIOD_MS_MAX = 1_250
/** The distance between two candidates for the period: below `LONG_MS`, and from there on. */
const STEP_MS = 0.25
const LONG_STEP_MS = 1
const LONG_MS = 400
/** Timers are set to round numbers of milliseconds: each of these that divides the period adds one to its score. */
const ROUND_MS = [50, 10, 1]
/** The likelihood that the period is still the former one, or the cadence, as a logarithm. */
const FORMER_SCORE = 5
/** A refresh jitters by this much on both sides. */
const JITTER_MS = 10
/** The score of a refresh that does not fall at the steps, as one at the begin of a block. */
const MISFIT_SCORE = -4
/** The least score of a known period: thousands are compared, and one of them may fit by chance. */
const SCORE_MIN = 11
/** A span that is wider than this is dropped: it shows little, and would take the place of a short one. */
const WIDTH_MS_MAX = 120
const SPANS_MAX = 24
/** The number of refreshes between two searches for the period, and the minimum number before the period changes. */
const SEARCH_EVERY = 4
const CHANGE_MIN = 12
/** The number of close polls after which learning ends without a result. */
const POLLS_MAX = 300
/** The period is checked after this time, because polls at its steps cannot show that it has changed. */
const LEARN_EVERY_MS = 60_000
/** A period of at least this part of the cadence is polled once, and not with every second refresh. */
const CADENCE_PART = 19 / 20

export function createRefreshPeriod(cadenceMs: () => number): RefreshPeriod {
  let periodMs: number | undefined
  let last: { readonly readMs: number; readonly sign: string } | undefined
  let spans: readonly Span[] = []
  let shown = 0
  let polls = 0
  let learnedAtMs = Number.NEGATIVE_INFINITY

  const usedMs = () => {
    if (periodMs === undefined) return cadenceMs()
    return periodMs * Math.ceil((cadenceMs() * CADENCE_PART) / periodMs)
  }
  const isLearning = (nowMs: number) => nowMs - learnedAtMs >= LEARN_EVERY_MS

  function end(atMs: number): void {
    learnedAtMs = atMs
    spans = []
    shown = 0
    polls = 0
  }

  function learn(fromMs: number, toMs: number): void {
    if (toMs - fromMs > WIDTH_MS_MAX) return
    spans = [...spans, { middleMs: (fromMs + toMs) / 2, widthMs: toMs - fromMs }].slice(-SPANS_MAX)
    if (++shown % SEARCH_EVERY !== 0) return
    const bestMs = bestOf(spans, periodMs ?? cadenceMs())
    if (bestMs === undefined || (bestMs !== periodMs && shown < CHANGE_MIN)) return
    periodMs = bestMs
    end(toMs)
  }

  return {
    get ms() {
      return usedMs()
    },
    isLearning,
    looked(readMs, sign, isClose) {
      const before = last
      last = { readMs, sign }
      if (!isLearning(readMs)) return false
      const formerMs = usedMs()
      if (isClose && ++polls > POLLS_MAX) end(readMs)
      else if (before !== undefined && before.sign !== sign) learn(before.readMs, readMs)
      return usedMs() !== formerMs
    },
    elsewhere() {
      last = undefined
      end(Number.NEGATIVE_INFINITY)
    },
  }
}

/** The likeliest period; undefined if none is likely enough. */
function bestOf(spans: readonly Span[], formerMs: number): number | undefined {
  let best: { readonly ms: number; readonly score: number } | undefined
  for (let ms = PERIOD_MS_MIN; ms <= PERIOD_MS_MAX; ms += ms < LONG_MS ? STEP_MS : LONG_STEP_MS) {
    const roundness = ROUND_MS.filter((round) => ms % round === 0).length
    const score = fitOf(spans, ms) + roundness + (ms === formerMs ? FORMER_SCORE : 0)
    if (score >= (best?.score ?? SCORE_MIN)) best = { ms, score }
  }
  return best?.ms
}

/** The logarithm of the likelihood of a steady period, against that of refreshes at any time. */
function fitOf(spans: readonly Span[], ms: number): number {
  const turn = (2 * Math.PI) / ms
  const startMs = spans[0]?.middleMs ?? 0
  let [x, y] = [0, 0]
  for (const { middleMs } of spans) {
    x += Math.cos((middleMs - startMs) * turn)
    y += Math.sin((middleMs - startMs) * turn)
  }
  const phaseMs = startMs + Math.atan2(y, x) / turn
  let score = 0
  for (const { middleMs, widthMs } of spans) {
    const offMs = middleMs - phaseMs - Math.round((middleMs - phaseMs) / ms) * ms
    const slackMs = widthMs / 2 + JITTER_MS
    score += Math.abs(offMs) <= slackMs ? Math.max(0, Math.log(ms / 2 / slackMs)) : MISFIT_SCORE
  }
  // The phase was chosen to fit.
  return (score * (spans.length - 1)) / spans.length
}
