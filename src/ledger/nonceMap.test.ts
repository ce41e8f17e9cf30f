import { describe, expect, test } from 'vitest'
import { NonceMap } from './nonceMap.js'

const FAR = 2 ** 40

/** All nonces from `from` on and below `to`. */
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)

/** A map with each of these nonces, set in this order. */
function holding(...nonces: readonly number[]): NonceMap<number> {
  const map = new NonceMap<number>()
  for (const nonce of nonces) map.set(nonce, nonce)
  return map
}

function without(map: NonceMap<number>, nonces: readonly number[]): NonceMap<number> {
  for (const nonce of nonces) map.delete(nonce)
  return map
}

/** The number of cells, which the interface does not show. */
const cellsOf = (map: NonceMap<number>): number =>
  (map as unknown as { cells: readonly unknown[] }).cells.length

describe('nonces that lie close together', () => {
  test.each([
    ['in any order', [5, 3, 4, 9, 1]],
    ['one of them twice', [3, 5, 4, 4, 3, 9, 1]],
    ['far up, as the first', [FAR + 1, FAR, FAR + 2]],
    ['enough for the ring to grow', [40, 20, 0, 30, 10]],
  ])('are iterated in order, for any order of insertion: %s', (_, nonces) => {
    expect([...holding(...nonces).keys()]).toEqual([...new Set(nonces)].sort((a, b) => a - b))
  })

  test('are iterated in order if the map was emptied before and they lie elsewhere', () => {
    const map = without(holding(1), [1])
    for (const nonce of [FAR + 1, FAR]) map.set(nonce, nonce)
    expect([...map.keys()]).toEqual([FAR, FAR + 1])
  })

  test.each([16, 32, 64])('fill the ring of %i cells, and no other nonce is found in it', (cells) => {
    const map = holding(...range(100, 100 + cells))
    expect(cellsOf(map)).toBe(cells)
    expect([map.get(99), map.get(100), map.get(100 + cells)]).toEqual([undefined, 100, undefined])
    expect([map.has(99), map.has(100 + cells), map.size]).toEqual([false, false, cells])
  })

  test.each([
    ['cleared', (map: NonceMap<number>) => map.clear()],
    ['emptied of nonces that lay far apart', (map: NonceMap<number>) => void without(map, [1, FAR])],
  ])('start afresh if the map was %s', (_, empty) => {
    const map = holding(1, FAR)
    empty(map)
    const nonces = range(7, 23)
    for (const nonce of [...nonces].reverse()) map.set(nonce, nonce)
    expect([...map]).toEqual(nonces.map((nonce) => [nonce, nonce]))
    expect(map.size).toBe(16)
  })
})

describe('nonces that lie far apart', () => {
  test('stay if one of them is deleted', () => {
    const map = without(holding(FAR, 1, 2), [1])
    expect([map.get(FAR), map.get(2), map.size]).toEqual([FAR, 2, 2])
    expect([...map.keys()]).toEqual([FAR, 2])
  })

  // Far means more than eight nonces per entry, and 1,024 more.
  test.each([
    [1, 1_031, 'close'],
    [1, 1_032, 'far'],
    [100, 1_823, 'close'],
    [100, 1_824, 'far'],
  ])(
    'are iterated in the order of insertion: with %i entries from 0 on, %i lies %s',
    (held, nonce, where) => {
      const map = holding(...range(0, held), nonce, held)
      const last = where === 'close' ? [held, nonce] : [nonce, held]
      expect([...map.keys()]).toEqual([...range(0, held), ...last])
    },
  )

  test('count as close if the ring already has room for them', () => {
    const map = without(holding(...range(0, 4_000)), range(1, 3_700))
    for (const nonce of [4_095, 50]) map.set(nonce, nonce)
    expect([...map.keys()]).toEqual([0, 50, ...range(3_700, 4_000), 4_095])
  })
})

describe('the size of the ring', () => {
  test.each([
    [100_000, 100_015, 16],
    [100_000, 100_016, 32],
    [100_000, 100_031, 32],
    [100_031, 100_000, 32],
    [100_000, 100_032, 64],
    [100_063, 100_000, 64],
  ])('for %i and then %i is %i cells: for all between them', (first, second, cells) => {
    expect(cellsOf(holding(first, second))).toBe(cells)
  })

  test('stays if the lowest entry is deleted before the next comes', () => {
    const map = holding(...range(0, 16))
    for (let nonce = 16; nonce < 100; nonce++) {
      map.delete(nonce - 16)
      map.set(nonce, nonce)
      expect(cellsOf(map)).toBe(16)
    }
    expect([...map.keys()]).toEqual(range(84, 100))
  })

  test('shrinks once less than an eighth is in use, so that it does not alternate', () => {
    const map = holding(...range(0, 64))
    for (const [heldFrom, cells] of [
      [40, 64],
      [56, 64],
      [57, 16],
    ] as const) {
      without(map, range(0, heldFrom))
      expect([heldFrom, cellsOf(map)]).toEqual([heldFrom, cells])
    }
    expect([...map.keys()]).toEqual(range(57, 64))
  })

  test.each([
    [31, 64],
    [32, 32],
    [48, 16],
  ])('is the span of the remaining entries: %i and 63 in %i cells', (lowest, cells) => {
    const map = without(holding(...range(0, 64)), [...range(0, lowest), ...range(lowest + 1, 63)])
    expect(cellsOf(map)).toBe(cells)
    expect([...map.keys()]).toEqual([lowest, 63])
  })

  test.each([
    ['lowest', range(0, 64)],
    ['highest', range(0, 64).reverse()],
  ])('shrinks if the %s entry is deleted first, and the other end last', (_, nonces) => {
    const map = without(holding(...range(0, 64)), nonces)
    expect([map.size, cellsOf(map)]).toEqual([0, 16])
  })
})
