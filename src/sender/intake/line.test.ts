import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLine, type LineEntry } from './line.js'

// Mostly in order, as they come; some of a lower sequence (queued again) or of another priority.
const entry = fc.record({
  priority: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 2 })),
  back: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(200)),
})
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ add: entry, mayGo: fc.boolean() }) },
  { weight: 3, arbitrary: fc.constant('shift' as const) },
  { weight: 3, arbitrary: fc.record({ turn: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ back: fc.nat(), mayGo: fc.boolean() }) },
)

const goesBefore = (a: LineEntry, b: LineEntry) => b.priority - a.priority || a.sequence - b.sequence

/** Whoever may go and has nobody of its own priority before it; of several, the one of the highest priority. */
function firstOf(waiting: ReadonlyMap<LineEntry, boolean>): LineEntry | undefined {
  const all = [...waiting.keys()].sort(goesBefore)
  return all.find((one) => waiting.get(one) && all.find(({ priority }) => priority === one.priority) === one)
}

test('entries go by priority, then as they came; one that may not go yet holds back its own priority alone', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const line = createLine<LineEntry>()
      const waiting = new Map<LineEntry, boolean>()
      const left: LineEntry[] = []
      let next = 1_000
      const at = (index: number) => [...waiting.keys()][index % waiting.size]
      const add = (one: LineEntry, mayGo: boolean) => {
        line.add(one, mayGo)
        waiting.set(one, mayGo)
      }
      const leave = (one: LineEntry | undefined) => {
        if (one === undefined) return
        waiting.delete(one)
        left.push(one)
      }
      for (const one of steps) {
        if (one === 'shift') {
          const first = firstOf(waiting)
          expect(line.shift()).toBe(first)
          leave(first)
        } else if ('add' in one) {
          // A fraction keeps two of one lane from having the same place.
          const sequence = next++ - one.add.back + (one.add.back && next / 1e6)
          add({ priority: one.add.priority, sequence }, one.mayGo)
        } else if ('turn' in one) {
          const turned = at(one.turn)
          if (turned) add(turned, !waiting.get(turned))
        } else if ('remove' in one) {
          const gone = at(one.remove)
          if (gone === undefined) continue
          line.remove(gone)
          leave(gone)
        } else {
          const again = left[one.back % left.length]
          if (again && !waiting.has(again)) add(again, one.mayGo)
        }
        expect(line.peek()).toBe(firstOf(waiting))
        expect(line.size).toBe(waiting.size)
        const some = at(steps.length)
        if (some)
          expect(line.isBehind(some)).toBe([...waiting.keys()].some((other) => goesBefore(other, some) < 0))
      }
      expect(new Set(line)).toEqual(new Set([...waiting].filter(([, mayGo]) => mayGo).map(([one]) => one)))
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

test('a priority for each entry costs no more than one for all', () => {
  const line = createLine<LineEntry>()
  const all = Array.from({ length: 20_000 }, (_, at) => ({ priority: at, sequence: at }))
  for (const one of all) line.add(one, false)
  for (const one of all) line.add(one)
  expect(Array.from({ length: all.length }, () => line.shift())).toEqual(all.toReversed())
})
