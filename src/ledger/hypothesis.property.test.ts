import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { type Book, createBook } from './book.js'
import type { SlotEvent } from './event.js'
import { HOLES_MAX } from './nonceRange.js'
import { block } from './samples.fixture.js'

const FLOOR = 3
const NONCES = Array.from({ length: 14 }, (_, nonce) => nonce)

type Step = { readonly suppose: number } | { readonly nonce: number; readonly event: SlotEvent }

/** A book that has a slot for each nonce of its hypothesis. */
function createSlotted() {
  const book = createBook({ floor: FLOOR })
  let supposed = 0
  return {
    book,
    suppose(to: number): void {
      const end = Math.min(supposed, book.cursor)
      if (to >= end) {
        for (let nonce = book.cursor; nonce < to; nonce++) book.apply(nonce, { type: 'seeded' })
      } else {
        // From the top down, so that the cursor falls with them.
        for (let nonce = end - 1; nonce >= to; nonce--)
          if (isSeeded(book, nonce)) book.apply(nonce, { type: 'released' })
      }
      supposed = to
    },
  }
}

function isSeeded(book: Book, nonce: number): boolean {
  const slot = book.get(nonce)
  return slot?.state === 'outside' && slot.origin === 'seeded'
}

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.integer({ min: 0, max: 12 }).map((suppose) => ({ suppose })),
  fc.tuple(fc.integer({ min: FLOOR, max: 12 }), fc.integer({ min: 0, max: 3 })).map(([nonce, kind]): Step => {
    const events: SlotEvent[] = [
      { type: 'handOut' },
      { type: 'released' },
      { type: 'evidence', block: block(20), hash: undefined },
      { type: 'stuck', head: true, atCeiling: false, priced: true, fillable: true, signer: true, token: 9 },
    ]
    return { nonce, event: events[kind] as SlotEvent }
  }),
)

/** Only free nonces can be handed out, and only readings give seeded nonces back. */
function mayTake(book: Book, { nonce, event }: { nonce: number; event: SlotEvent }): boolean {
  const slot = book.get(nonce)
  if (event.type === 'handOut') return nonce >= book.floor && (slot === undefined || slot.state === 'hole')
  return event.type !== 'released' || !isSeeded(book, nonce)
}

const shapeOf = (book: Book) => ({
  floor: book.floor,
  cursor: book.cursor,
  coveredTo: book.coveredTo,
  hole: book.lowestHole(),
  uncovered: book.uncovered(99),
  slots: NONCES.filter((nonce) => nonce >= book.floor && nonce < book.cursor).map(book.get),
})

test('a hypothesis equals one slot per nonce, and giving it back equals releasing each', () => {
  fc.assert(
    fc.property(fc.array(stepArbitrary, { maxLength: 40, size: 'max' }), (steps) => {
      const ranged = createBook({ floor: FLOOR })
      const slotted = createSlotted()
      for (const step of steps) {
        if ('suppose' in step) {
          ranged.suppose(step.suppose)
          slotted.suppose(step.suppose)
        } else if (mayTake(ranged, step)) {
          ranged.apply(step.nonce, step.event)
          slotted.book.apply(step.nonce, step.event)
        }
        expect(shapeOf(ranged)).toEqual(shapeOf(slotted.book))
      }
    }),
    { numRuns: runsOf(500) },
  )
}, 30_000)

describe('an invented number of a node costs nothing', () => {
  const HUGE = 1_000_000_001

  test('supposed, passed, refuted: no slot is created', () => {
    const book = createBook({ floor: FLOOR })
    book.suppose(HUGE)
    expect([book.cursor, book.slots.size, book.get(5)?.state, book.uncovered(2).length]).toEqual([
      HUGE,
      0,
      'outside',
      2,
    ])
    book.raise(HUGE - 1)
    expect([book.floor, book.coveredTo, book.slots.size]).toEqual([HUGE - 1, HUGE - 1, 0])
    book.lower(4)
    expect([book.floor, book.cursor, book.slots.size]).toEqual([4, HUGE, 0])
    book.suppose(6)
    expect([book.floor, book.cursor, book.slots.size, book.unfinished]).toEqual([4, 6, 0, 2])
  })

  test('a bound nonce above is kept, and the nonces in between are not given back one by one', () => {
    const book = createBook({ floor: FLOOR })
    book.suppose(HUGE)
    book.apply(HUGE, { type: 'handOut' })
    expect(book.suppose(FLOOR)).toBe(false)
    expect([book.cursor, book.slots.size, book.supposedTo]).toEqual([HUGE + 1, 1, HUGE])
  })

  test('a record far above all others does not create a hole for each nonce in between', () => {
    const book = createBook({ floor: FLOOR })
    book.restore({ state: 'outside', nonce: HUGE, attempts: [], origin: 'handedOut' })
    expect([book.cursor, book.slots.size, book.lowestHole()]).toEqual([HUGE + 1, 1, undefined])
    expect(HUGE).toBeGreaterThan(HOLES_MAX)
  })
})
