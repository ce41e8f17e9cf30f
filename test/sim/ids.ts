const PREFIX = 'transaction-'
// Above all markers that are counted up.
const MEMBERS_FROM = 10_000
const MEMBERS_MAX = 10

/** The marker of a member at a place in the sequence that begins with another marker. */
export function memberMarker(first: number, place: number): number {
  return place === 0 ? first : MEMBERS_FROM + first * MEMBERS_MAX + place
}

/** The id that callers give to a transaction. */
export function idOf(marker: number): string {
  return `${PREFIX}${marker}`
}

export function memberId(first: number, place: number): string {
  return `${idOf(first)}/${place}`
}

/** The marker in a caller's id; undefined for an id that the lane made. */
export function markerOf(id: string): number | undefined {
  if (!id.startsWith(PREFIX)) return undefined
  const [first, place = 0] = id.slice(PREFIX.length).split('/').map(Number)
  return first === undefined ? undefined : memberMarker(first, place)
}
