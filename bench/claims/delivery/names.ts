/** In measuring order. */
export const PART_NAMES = [
  'roundTrips',
  'slowBlocks',
  'metered',
  'recovery',
  'opening',
  'eventLoop',
  'idle',
] as const

export type PartName = (typeof PART_NAMES)[number]

export function isPartName(name: string): name is PartName {
  return (PART_NAMES as readonly string[]).includes(name)
}
