const SECOND_MS = 1_000

/**
 * The units of the last second, in whole milliseconds: at most a thousand entries, for any number of events.
 */
export type LastSecond = {
  sum(nowMs: number): number
  add(units: number, nowMs: number): void
  /** Removes units that were added at `atMs`, because they do not count after all. */
  remove(units: number, atMs: number): void
  /** The time from which at most `units` of the present units are younger than a second. */
  roomAt(units: number, nowMs: number): number
}

export function createLastSecond(): LastSecond {
  const entries: { readonly atMs: number; units: number }[] = []
  // The sum of all entries.
  let total = 0

  function sum(nowMs: number): number {
    for (let first = entries[0]; first && first.atMs <= nowMs - SECOND_MS; first = entries[0]) {
      total -= first.units
      entries.shift()
    }
    return total
  }

  return {
    sum,
    add(units, nowMs) {
      sum(nowMs)
      total += units
      const last = entries.at(-1)
      const atMs = Math.ceil(nowMs)
      if (last?.atMs === atMs) last.units += units
      else entries.push({ atMs, units })
    },
    remove(units, addedMs) {
      const atMs = Math.ceil(addedMs)
      const entry = entries.find((each) => each.atMs === atMs)
      if (entry === undefined) return
      entry.units -= units
      total -= units
    },
    roomAt(units, nowMs) {
      let left = sum(nowMs)
      let atMs = nowMs
      for (const entry of entries) {
        if (left <= units) break
        left -= entry.units
        atMs = entry.atMs + SECOND_MS
      }
      return atMs
    },
  }
}
