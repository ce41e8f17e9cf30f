/** True if standard output should be coloured. picocolors by itself colours pipes under CI. */
export function wantsColors(): boolean {
  return !process.env.NO_COLOR && process.stdout.isTTY === true && process.env.TERM !== 'dumb'
}
