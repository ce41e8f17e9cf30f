/**
 * The number of runs of a property: `TXLANE_RUNS` if it is set, to search longer or to be quick, and the
 * usual number otherwise.
 */
export function runsOf(usual: number): number {
  const { TXLANE_RUNS: given } = process.env
  return given === undefined ? usual : Number(given)
}
