import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLine, type LineEntry } from './line.js'

// Mostly in order, as they come; some of a lower sequence (queued again) or of another priority.
const entry = fc.record({
  priority: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 2 })),
  back: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(200)),
})
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ add: entry }) },
  { weight: 3, arbitrary: fc.constant('shift' as const) },
  { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ back: fc.nat() }) },
)

const goesBefore = (a: LineEntry, b: LineEntry) => b.priority - a.priority || a.sequence - b.sequence

test('whoever waits goes by priority, then as they came, however they come, leave and come back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
      const line = createLine<LineEntry>()
      let waiting: LineEntry[] = []
      const left: LineEntry[] = []
      let next = 1_000
      const without = (one: LineEntry | undefined) => waiting.filter((other) => other !== one)
      const add = (one: LineEntry) => {
        line.add(one)
        waiting = [...without(one), one].sort(goesBefore)
      }
      for (const one of steps) {
        if (one === 'shift') {
          expect(line.shift()).toBe(waiting[0])
          if (waiting[0]) left.push(waiting[0])
          waiting = without(waiting[0])
        } else if ('add' in one) {
          // A fraction keeps two of one lane from having the same place.
          add({ priority: one.add.priority, sequence: next++ - one.add.back + (one.add.back && next / 1e6) })
        } else if ('remove' in one) {
          const gone = waiting[one.remove % waiting.length]
          if (gone === undefined) continue
          line.remove(gone)
          left.push(gone)
          waiting = without(gone)
        } else {
          const again = left[one.back % left.length]
          if (again && !waiting.includes(again)) add(again)
        }
        expect(line.peek()).toBe(waiting[0])
        expect(line.size).toBe(waiting.length)
      }
      expect(new Set(line)).toEqual(new Set(waiting))
    }),
  )
})

test('most may leave at once, from anywhere, and the rest go in their order', () => {
  const line = createLine<LineEntry>()
  const all = Array.from({ length: 1_000 }, (_, at) => ({ priority: at % 3, sequence: at }))
  for (const one of all) line.add(one)
  for (const one of all) if (one.sequence % 7 > 0) line.remove(one)
  const rest = all.filter(({ sequence }) => sequence % 7 === 0).sort(goesBefore)
  expect(Array.from({ length: rest.length + 1 }, () => line.shift())).toEqual([...rest, undefined])
})
