import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMinHeap } from './heap.js'

test('whatever was pushed comes out from the lowest up, duplicates too, however pushes and pops are mixed', () => {
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
