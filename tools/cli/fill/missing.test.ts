import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { holesOf, type Waiting } from '../inspect/look.js'
import { LISTED_MAX, missingIn, missingText } from '../shared/missing.js'
import { Refusal } from '../shared/program.js'
import { missingBelow } from './command.js'

const HUGE = Number.MAX_SAFE_INTEGER - 1
const waitingAt = (...nonces: readonly number[]) => nonces.map((nonce) => ({ nonce }) as Waiting)

describe('the nonces that are missing', () => {
  test('are the untaken nonces of the range', () => {
    const nonces = fc.uniqueArray(fc.nat(60)).map((all) => all.sort((a, b) => a - b))
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), nonces, (first, end, taken) => {
        const all = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)
        const expected = all.filter((nonce) => !taken.includes(nonce))
        expect(missingIn(first, end, taken)).toEqual({ count: expected.length, lowest: expected })
      }),
    )
  })

  test('are counted and not listed if there are many', () => {
    const { count, lowest } = missingIn(7, HUGE, [9, 1_000_000_001])
    expect(count).toBe(HUGE - 7 - 2)
    expect(lowest).toHaveLength(LISTED_MAX)
    expect(lowest.slice(0, 3)).toEqual([7, 8, 10])
    expect(missingText({ count, lowest })).toBe(
      '7, 8, 10, 11, 12, 13, 14, 15, … (9,007,199,254,740,981 in all)',
    )
  })

  test('are empty without a pending transaction, and below the count', () => {
    expect(holesOf(3, 3, undefined).count).toBe(0)
    expect(holesOf(3, HUGE, waitingAt(5)).count).toBe(0)
  })
})

describe('the nonces to fill', () => {
  const look = (waiting: readonly Waiting[] | undefined, latest = 3, pending = latest) => {
    const { count, lowest } = holesOf(latest, pending, waiting)
    return { waiting, counts: { latest, pending, finalized: 0, safe: 0 }, holes: lowest, holesCount: count }
  }

  test('end below the highest pooled nonce, or at --to', () => {
    expect(missingBelow(look(waitingAt(5, 8)), undefined).lowest).toEqual([3, 4, 6, 7])
    expect(missingBelow(look(waitingAt(5, 8)), 6).lowest).toEqual([3, 4, 6])
    expect(missingBelow(look(undefined), 5).lowest).toEqual([3, 4, 5])
    expect(missingBelow(look(waitingAt(5)), 2).lowest).toEqual([])
    expect(() => missingBelow(look(undefined), undefined)).toThrow(Refusal)
  })

  test('are counted without a list if the node reports a huge nonce', () => {
    expect(missingBelow(look(waitingAt(HUGE)), undefined)).toMatchObject({ count: HUGE - 3 })
    expect(missingBelow(look(undefined), HUGE).count).toBe(HUGE - 2)
    expect(missingBelow(look(waitingAt(HUGE)), 4).lowest).toEqual([3, 4])
  })
})
