/** How often a property is tried: as often as it says, or as `TXLANE_RUNS` says, to look for longer or to be quick. */
export function runsOf(usual: number): number {
  const { TXLANE_RUNS: given } = process.env
  return given === undefined ? usual : Number(given)
}
