import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CountReading } from './evidence.js'
import { createSearch, endOf, narrow, nextCounts, type Search } from './evidenceSearch.js'

const NONCE = 7

/**
 * Runs a search on a chain whose counts pass the nonce at `usedAt`, with states below `servedFrom` refused.
 */
function run(
  { from, high, usedAt, servedFrom }: { from: number; high: number; usedAt: number; servedFrom: number },
  countsMax: number,
): { search: Search; rounds: number } {
  const countAt = (number: number): CountReading => {
    if (number < servedFrom) return 'refused'
    return number >= usedAt ? NONCE + 1 : NONCE
  }
  let search = createSearch(NONCE, from, high)
  for (let rounds = 0; ; rounds++) {
    const asked = nextCounts(search, countsMax)
    if (asked.length === 0) return { search, rounds }
    expect(asked.length).toBeLessThanOrEqual(countsMax)
    expect(asked.every((number) => number >= 0 && number < search.high)).toBe(true)
    const next = narrow(search, asked, asked.map(countAt))
    if (next === undefined) throw new Error('the search found a contradiction in a sound chain')
    search = next
  }
}

describe('the search for the block that used a nonce', () => {
  it('finds the block for any position and belief, or the edge of the state that is served', () => {
    const chains = fc
      .record({ high: fc.nat(5_000), use: fc.nat(), below: fc.nat(), served: fc.nat(), pruned: fc.boolean() })
      .map(({ high, use, below, served, pruned }) => ({
        high,
        usedAt: use % (high + 1),
        from: below % (high + 10),
        servedFrom: pruned ? served % (high + 1) : 0,
      }))
    fc.assert(
      fc.property(chains, fc.integer({ min: 2, max: 16 }), (chain, countsMax) => {
        const { search } = run(chain, countsMax)
        const end = endOf(search, 256)
        const { usedAt, servedFrom } = chain
        const expected =
          usedAt > servedFrom
            ? { kind: 'block', number: usedAt }
            : servedFrom === 0
              ? { kind: 'genesis' }
              : { kind: 'bodies', refused: servedFrom - 1 }
        expect(end).toMatchObject(expected)
      }),
    )
  })

  it('takes few rounds: five for a million blocks, nine if the belief was wrong', () => {
    expect(run({ from: 0, high: 1_000_000, usedAt: 654_321, servedFrom: 0 }, 16).rounds).toBeLessThanOrEqual(
      5,
    )
    const wrong = { from: 999_999, high: 1_000_000, usedAt: 4_321, servedFrom: 0 }
    expect(run(wrong, 16).rounds).toBeLessThanOrEqual(9)
  })

  it('reads the believed block and the neighbours of the use in one round if they are close', () => {
    expect(nextCounts(createSearch(NONCE, 95, 100), 16)).toEqual([95, 96, 97, 98, 99])
  })

  it('goes twice as far down with each step if the belief was wrong, in ascending order', () => {
    const wrong = createSearch(NONCE, 1_000, 1_000)
    const passed = (search: Search, asked: readonly number[]) =>
      narrow(
        search,
        asked,
        asked.map(() => NONCE + 1),
      ) as Search
    const first = nextCounts(wrong, 4)
    expect(first).toEqual([992, 996, 998, 999])
    const second = nextCounts(passed(wrong, first), 4)
    expect(second).toEqual([864, 928, 960, 976])
    // The steps start from one again, because the belief itself turned out to be wrong.
    const believed = createSearch(NONCE, 95, 100)
    expect(nextCounts(passed(believed, nextCounts(believed, 16)), 4)).toEqual([87, 91, 93, 94])
  })

  it('finds a contradiction if a block passes the nonce after a count or a refusal that excluded it', () => {
    const search = createSearch(NONCE, 0, 100)
    expect(narrow({ ...search, low: 10 }, [10], [NONCE + 1])).toBeUndefined()
    expect(narrow({ ...search, refused: 10 }, [10], [NONCE + 1])).toBeUndefined()
  })

  it('finds a contradiction if counts decrease, states come and go, or an answer is missing', () => {
    const search = createSearch(NONCE, 0, 100)
    expect(narrow(search, [10, 20], [NONCE + 1, NONCE])).toBeUndefined()
    expect(narrow(search, [10, 20], [NONCE + 1, 'refused'])).toBeUndefined()
    expect(narrow(search, [10, 20], [NONCE, undefined])).toBeUndefined()
    expect(narrow(search, [10, 20], [NONCE])).toBeUndefined()
  })

  it('lists the bodies upwards from the belief, then downwards, up to the limit each', () => {
    const edge = (from: number) => createSearch(NONCE, from, 100, 99)
    const up = (...numbers: number[]) => ({ passedBy: 'above', numbers })
    const down = (...numbers: number[]) => ({ passedBy: 'below', numbers })
    expect(endOf(edge(97), 3)).toEqual({
      kind: 'bodies',
      refused: 99,
      runs: [up(98, 99, 100), down(97, 96, 95)],
    })
    expect(endOf(edge(10), 3)).toMatchObject({ runs: [up(11, 12, 13), down(10, 9, 8)] })
    expect(endOf(edge(100), 3)).toMatchObject({ runs: [down(100, 99, 98)] })
    expect(endOf(createSearch(NONCE, 9, 1, 0), 256)).toMatchObject({ runs: [down(1, 0)] })
  })

  it('names no body below a count that was read', () => {
    expect(endOf({ ...createSearch(NONCE, 10, 100, 99), low: 97 }, 256)).toMatchObject({
      runs: [{ passedBy: 'above', numbers: [98, 99, 100] }],
    })
  })
})
