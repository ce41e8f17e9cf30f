import { expect, test } from 'vitest'
import { idOf, markerOf, memberId, memberMarker } from './ids.js'

test('the marker of an id is found again, at any place in a sequence', () => {
  expect(markerOf(idOf(7))).toBe(7)
  for (const place of [0, 1, 3]) expect(markerOf(memberId(7, place))).toBe(memberMarker(7, place))
  expect(memberMarker(7, 0)).toBe(7)
  expect(new Set([7, 8].flatMap((first) => [1, 2].map((place) => memberMarker(first, place)))).size).toBe(4)
  expect(markerOf('outside:0x12')).toBeUndefined()
})
