import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHeap, createMinHeap } from './heap.js'

test('pops entries from the lowest up, duplicates too, for any mix of pushes and pops', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer(), { nil: 'pop' as const })), (steps) => {
      const heap = createMinHeap()
      const sorted: number[] = []
      for (const step of steps) {
        if (step === 'pop') expect(heap.pop()).toBe(sorted.shift())
        else {
          heap.push(step)
          sorted.push(step)
          sorted.sort((a, b) => a - b)
        }
        expect([heap.peek(), heap.size]).toEqual([sorted[0], sorted.length])
      }
    }),
  )
})

test('orders entries with the given comparison alone', () => {
  type Entry = { readonly rank: number }
  const before = (a: Entry, b: Entry): boolean => a.rank < b.rank
  fc.assert(
    fc.property(fc.array(fc.nat(20)), (ranks) => {
      const heap = createHeap<Entry>(before)
      for (const rank of ranks) heap.push({ rank })
      const sorted = [...ranks].sort((a, b) => a - b)
      expect(ranks.map(() => heap.pop()?.rank)).toEqual(sorted)
      expect([heap.pop(), heap.size]).toEqual([undefined, 0])
    }),
    { examples: [[[3, 1, 2]], [[2, 1]]] },
  )
})
