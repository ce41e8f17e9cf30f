import type { Clock } from '../../../../src/platform/clock.js'
import type { Shown } from '../../shared/progress.js'
import type { SendRun } from '../pay/run.js'

const STEADY = 10

/**
 * The stages, the rate and the remaining time of a run. `before`: lines that earlier runs paid; they are counted
 * and do not make the run faster.
 */
export function runProgress(
  { counts }: Pick<SendRun, 'counts'>,
  { total, before, clock }: { readonly total: number; readonly before: number; readonly clock: Clock },
): () => Shown {
  const begunMs = clock.now()
  let last = { sealed: before, atMs: begunMs }
  return () => {
    const { sealed, failed } = counts
    // A line that has reached a later stage counts for the earlier ones too, even if they were not observed.
    const preconfirmed = Math.max(counts.preconfirmed, sealed)
    const accepted = Math.max(counts.accepted, preconfirmed)
    const signed = Math.max(counts.signed, accepted)
    const nowMs = clock.now()
    if (sealed !== last.sealed) last = { sealed, atMs: nowMs }
    // Up to the last block: until the next one comes, the rate does not fall and the remaining time does not rise.
    const seconds = Math.max(0.001, (last.atMs - begunMs) / 1_000)
    const rate = Math.max(0, sealed - before) / seconds
    const left = total - sealed - failed
    // The first lines say little: they waited for their block.
    const end =
      sealed - before >= STEADY && left > 0
        ? [`${duration(Math.max(1, left / rate - (nowMs - last.atMs) / 1_000))} left`]
        : []
    const speed = rate > 0 ? [`${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`] : []
    const bad = failed > 0 ? [`not paid ${number(failed)}`] : []
    const first = `sealed ${number(sealed)} of ${number(total)}`
    const ahead = [
      preconfirmed > sealed ? `preconfirmed ${number(preconfirmed)}` : '',
      accepted > preconfirmed ? `accepted ${number(accepted)}` : '',
      signed > accepted ? `signed ${number(signed)}` : '',
    ].filter((text) => text !== '')
    const texts = [
      [first, ...ahead, ...bad, ...speed, ...end],
      [first, ...ahead, ...bad, ...end],
      [first, ...ahead.slice(-1), ...bad, ...end],
      [first, ...bad, ...end],
      [first, ...end],
      [first],
    ]
    return {
      done: sealed + failed,
      stages: [sealed, preconfirmed, accepted, signed].map((items) => items + failed),
      text: texts.map((parts) => parts.join(', ')),
    }
  }
}

const number = (value: number): string => value.toLocaleString('en')

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}
