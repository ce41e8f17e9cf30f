import { duration } from '../model/words.js'

const two = (value: number) => String(value).padStart(2, '0')

/** Local time of day, to the millisecond. */
export function clockTime(at: number): string {
  const date = new Date(at)
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}

export function day(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** `+240 ms`. */
export function after(ms: number): string {
  return ms < 0 ? `−${duration(-ms)}` : `+${duration(ms)}`
}
