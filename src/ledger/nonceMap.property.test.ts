import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { NonceMap } from './nonceMap.js'

type Step = { readonly do: 'set' | 'delete'; readonly nonce: number }

describe('NonceMap', () => {
  test('has the same entries as a Map, for any order of set and delete', () => {
    const near = fc.nat(40)
    const anywhere = fc.oneof(
      { weight: 20, arbitrary: near },
      { weight: 2, arbitrary: fc.nat(5_000) },
      { weight: 1, arbitrary: fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32 + 7, 2 ** 53 - 1) },
    )
    const start = fc.constantFrom(0, 1, 2 ** 31 - 20, 2 ** 32 - 20)
    const steps = (nonces: fc.Arbitrary<number>) =>
      fc.array(fc.record({ do: fc.constantFrom('set' as const, 'delete' as const), nonce: nonces }), {
        maxLength: 300,
      })
    const histories = fc.oneof(
      steps(anywhere),
      fc.tuple(start, steps(near)).map(([from, some]) => some.map((step) => moved(step, from))),
      // As in a lane: nonces are added above and removed below, slightly out of order.
      steps(fc.nat(6)).map((some) => some.map((step, index) => moved(step, index))),
    )
    fc.assert(
      fc.property(histories, (history) => sameAsMap(history)),
      { numRuns: runsOf(2_000) },
    )
  })

  test('returns the entries between two nonces in order, at any distance', () => {
    const nonce = fc.oneof(fc.nat(40), fc.constantFrom(5_000, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER))
    fc.assert(
      fc.property(fc.array(nonce), nonce, nonce, (nonces, from, to) => {
        const map = new NonceMap<number>()
        for (const each of nonces) map.set(each, each)
        const expected = [...new Set(nonces)]
          .filter((each) => each >= from && each < to)
          .sort((a, b) => a - b)
        expect([...map.between(from, to)]).toEqual(expected)
      }),
    )
  })

  test('keeps its entries when it grows, and gives the memory back', () => {
    const map = new NonceMap<number>()
    for (let nonce = 100_000; nonce < 300_000; nonce++) map.set(nonce, nonce)
    let lost = 0
    for (let nonce = 100_000; nonce < 300_000; nonce++) {
      if (map.get(nonce) !== nonce) lost++
      map.delete(nonce)
    }
    expect([lost, map.size]).toEqual([0, 0])
    expect(cellsOf(map)).toBe(16)
  })

  test('takes no more memory as a few nonces move on', () => {
    const map = new NonceMap<number>()
    for (let nonce = 0; nonce < 100_000; nonce++) {
      map.set(nonce, nonce)
      map.delete(nonce - 60)
    }
    expect(map.size).toBe(60)
    expect(cellsOf(map)).toBe(64)
  })

  test('takes no more memory if nonces are removed out of order', () => {
    const map = new NonceMap<number>()
    for (let nonce = 0; nonce < 100_000; nonce += 2) {
      map.set(nonce, nonce)
      map.set(nonce + 1, nonce + 1)
      map.delete(nonce - 59)
      map.delete(nonce - 60)
    }
    expect(map.size).toBe(60)
    expect(cellsOf(map)).toBe(64)
  })

  test('takes no memory for the nonces between two that are far apart', () => {
    const map = new NonceMap<string>()
    map.set(1, 'low')
    map.set(2 ** 40, 'high')
    expect([...map]).toEqual([
      [1, 'low'],
      [2 ** 40, 'high'],
    ])
    expect(cellsOf(map)).toBe(16)
    map.delete(1)
    map.delete(2 ** 40)
    map.set(7, 'near')
    expect(map.get(7)).toBe('near')
    expect([...map.keys()]).toEqual([7])
  })

  test('continues an iteration if entries are deleted during it', () => {
    const map = new NonceMap<number>()
    for (let nonce = 0; nonce < 100; nonce++) map.set(nonce, nonce)
    const met: number[] = []
    for (const [nonce] of map) {
      met.push(nonce)
      map.delete(nonce)
      map.delete(nonce + 1)
    }
    expect(met).toEqual(Array.from({ length: 50 }, (_, index) => 2 * index))
  })
})

function moved({ do: what, nonce }: Step, from: number): Step {
  return { do: what, nonce: nonce + from }
}

function sameAsMap(history: readonly Step[]): void {
  const ours = new NonceMap<string>()
  const model = new Map<number, string>()
  for (const [index, { do: what, nonce }] of history.entries()) {
    if (what === 'set') {
      ours.set(nonce, `${index}`)
      model.set(nonce, `${index}`)
    } else expect(ours.delete(nonce)).toBe(model.delete(nonce))
    expect(ours.size).toBe(model.size)
    for (const known of [nonce, nonce + 1, nonce - 1, nonce + 16, nonce - 16])
      expect(ours.get(known)).toBe(model.get(known))
  }
  const byNonce = (a: readonly [number, string], b: readonly [number, string]) => a[0] - b[0]
  expect([...ours].sort(byNonce)).toEqual([...model].sort(byNonce))
}

/** The number of cells, which the interface does not show. */
function cellsOf(map: NonceMap<never> | NonceMap<number> | NonceMap<string>): number {
  return (map as unknown as { cells: readonly unknown[] }).cells.length
}
