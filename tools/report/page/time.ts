import { duration } from '../model/words.js'

/** `2025-06-15 14:26:40.123`, in UTC. The column says so. */
export function time(at: number): string {
  return new Date(at).toISOString().slice(0, 23).replace('T', ' ')
}

/** `+240 ms`. */
export function after(ms: number): string {
  return ms < 0 ? `−${duration(-ms)}` : `+${duration(ms)}`
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

/** Distances between the marks of a time axis, in milliseconds. */
export const TIME_STEPS: number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 30, 60, 180, 365].map((days) => days * DAY),
]

/** The text at a mark of the axis: as exact as the marks are close. */
export function timeMark(at: number, stepMs: number): string {
  const text = time(at)
  if (stepMs >= DAY) return text.slice(0, 10)
  if (stepMs >= MINUTE) return text.slice(11, 16)
  return stepMs >= SECOND ? text.slice(11, 19) : text.slice(11)
}

/** The title of a time axis, with the dates of its ends. */
export function timeTitle(from: number, to: number): string {
  const [first, last] = [time(from).slice(0, 10), time(to).slice(0, 10)]
  return `Time (UTC) on ${first}${first === last ? '' : ` to ${last}`}`
}
