/** Milliseconds of the monotonic clock that all processes of the machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
