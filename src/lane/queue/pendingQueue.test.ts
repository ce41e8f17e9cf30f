import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPendingQueue, type QueueEntry } from './pendingQueue.js'

// Most entries arrive in order. Some have a lower sequence (they are queued again), some another priority.
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

const goesBefore = (a: QueueEntry, b: QueueEntry) => b.priority - a.priority || a.sequence - b.sequence

/** The entry that may go and is the first of its priority; of several, the one with the highest priority. */
function firstOf(waiting: ReadonlyMap<QueueEntry, boolean>): QueueEntry | undefined {
  const all = [...waiting.keys()].sort(goesBefore)
  return all.find((one) => waiting.get(one) && all.find(({ priority }) => priority === one.priority) === one)
}

test('entries go by priority, then by arrival; an entry that may not go yet holds back its own priority alone', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const queue = createPendingQueue<QueueEntry>()
      const waiting = new Map<QueueEntry, boolean>()
      const left: QueueEntry[] = []
      let next = 1_000
      const at = (index: number) => [...waiting.keys()][index % waiting.size]
      const add = (one: QueueEntry, mayGo: boolean) => {
        queue.add(one, mayGo)
        waiting.set(one, mayGo)
      }
      const leave = (one: QueueEntry | undefined) => {
        if (one === undefined) return
        waiting.delete(one)
        left.push(one)
      }
      for (const one of steps) {
        if (one === 'shift') {
          const first = firstOf(waiting)
          expect(queue.shift()).toBe(first)
          leave(first)
        } else if ('add' in one) {
          // The fraction makes each sequence unique.
          const sequence = next++ - one.add.back + (one.add.back && next / 1e6)
          add({ priority: one.add.priority, sequence }, one.mayGo)
        } else if ('turn' in one) {
          const turned = at(one.turn)
          if (turned) add(turned, !waiting.get(turned))
        } else if ('remove' in one) {
          const gone = at(one.remove)
          if (gone === undefined) continue
          queue.remove(gone)
          leave(gone)
        } else {
          const again = left[one.back % left.length]
          if (again && !waiting.has(again)) add(again, one.mayGo)
        }
        expect(queue.peek()).toBe(firstOf(waiting))
        expect(queue.size).toBe(waiting.size)
        const some = at(steps.length)
        if (some)
          expect(queue.isBehind(some)).toBe([...waiting.keys()].some((other) => goesBefore(other, some) < 0))
      }
      expect(new Set(queue)).toEqual(new Set([...waiting].filter(([, mayGo]) => mayGo).map(([one]) => one)))
    }),
  )
})

test('most entries may be removed at once, from any place, and the rest keep their order', () => {
  const queue = createPendingQueue<QueueEntry>()
  const all = Array.from({ length: 1_000 }, (_, at) => ({ priority: at % 3, sequence: at }))
  for (const one of all) queue.add(one)
  for (const one of all) if (one.sequence % 7 > 0) queue.remove(one)
  const rest = all.filter(({ sequence }) => sequence % 7 === 0).sort(goesBefore)
  expect(Array.from({ length: rest.length + 1 }, () => queue.shift())).toEqual([...rest, undefined])
})

test('one priority per entry costs no more than one priority for all', () => {
  const queue = createPendingQueue<QueueEntry>()
  const all = Array.from({ length: 20_000 }, (_, at) => ({ priority: at, sequence: at }))
  for (const one of all) queue.add(one, false)
  for (const one of all) queue.add(one)
  expect(Array.from({ length: all.length }, () => queue.shift())).toEqual(all.toReversed())
})

type Grouped = QueueEntry & { readonly group: string }

const GROUPS = ['a', 'b', 'c', 'd'] as const
const weights = fc.record({
  a: fc.integer({ min: 1, max: 4 }),
  b: fc.integer({ min: 1, max: 4 }),
  c: fc.integer({ min: 1, max: 4 }),
  d: fc.integer({ min: 1, max: 4 }),
})
type Weights = Readonly<Record<string, number>>

const lineOf = (of: Weights) => createPendingQueue<Grouped>((group) => of[group ?? ''] ?? 1)

test('groups with waiting entries go by their weights, and each group keeps its order', () => {
  fc.assert(
    fc.property(weights, fc.integer({ min: 2, max: 4 }), fc.nat(400), (of, groupCount, shifts) => {
      const queue = lineOf(of)
      const groups = GROUPS.slice(0, groupCount)
      // Added group by group, so that the first group is as far ahead as possible.
      let sequence = 0
      for (const group of groups)
        for (let at = 0; at < 500; at++) queue.add({ priority: 0, sequence: sequence++, group })
      const served: Record<string, number[]> = {}
      for (let at = 0; at < shifts; at++) {
        const one = queue.shift() as Grouped
        served[one.group] = [...(served[one.group] ?? []), one.sequence]
      }
      const all = groups.reduce((sum, group) => sum + (of[group] as number), 0)
      for (const group of groups) {
        const own = served[group] ?? []
        expect(own).toEqual(own.toSorted((one, other) => one - other))
        const fair = (shifts * (of[group] as number)) / all
        // No group is further from its share than one turn of its own plus one turn of each other group.
        expect(Math.abs(own.length - fair)).toBeLessThanOrEqual(groupCount * Math.max(...Object.values(of)))
      }
    }),
  )
})

test('an entry of another group goes within one round, however many wait before it and however late it comes', () => {
  fc.assert(
    fc.property(weights, fc.nat(900), fc.nat(900), (of, before, others) => {
      const queue = lineOf(of)
      let sequence = 0
      for (let at = 0; at < 1_000; at++) queue.add({ priority: 0, sequence: sequence++, group: 'a' })
      for (let at = 0; at < others; at++) queue.add({ priority: 0, sequence: sequence++, group: 'b' })
      for (let at = 0; at < before; at++) queue.shift()
      const late: Grouped = { priority: 0, sequence: sequence++, group: 'c' }
      queue.add(late)
      let waited = 0
      while (queue.shift() !== late) waited++
      expect(waited).toBeLessThanOrEqual((of.a ?? 1) + (of.b ?? 1) + 2)
    }),
  )
})

test('an absent group saves up no turns, and a group that returns at once gains none', () => {
  const queue = lineOf({})
  let sequence = 0
  const add = (group: string) => queue.add({ priority: 0, sequence: sequence++, group })
  for (let at = 0; at < 100; at++) add('a')
  for (let at = 0; at < 50; at++) queue.shift()
  for (let at = 0; at < 10; at++) add('b')
  const next = Array.from({ length: 10 }, () => queue.shift()?.group)
  expect(next.filter((group) => group === 'b')).toHaveLength(5)
  // With one entry at a time the group never goes twice in a row.
  for (let at = 0; at < 5; at++) queue.shift()
  const alone: (string | undefined)[] = []
  for (let at = 0; at < 20; at++) {
    add('c')
    const gone = [queue.shift()?.group, queue.shift()?.group]
    alone.push(...gone)
  }
  expect(alone.join('')).not.toContain('cc')
})

test('no entry of a closed group goes, and no other entry waits for it', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ group: fc.constantFrom(...GROUPS), priority: fc.nat(2) })), (all) => {
      const queue = lineOf({})
      for (const [sequence, one] of all.entries()) queue.add({ ...one, sequence })
      queue.close('a')
      const gone: Grouped[] = []
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) gone.push(one)
      expect(gone).toHaveLength(all.filter(({ group }) => group !== 'a').length)
      expect(gone.every(({ group }) => group !== 'a')).toBe(true)
      queue.reopen('a')
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) gone.push(one)
      expect(gone).toHaveLength(all.length)
      expect(queue.size).toBe(0)
    }),
  )
})

test('an entry that may not go yet holds back its own group alone', () => {
  const queue = lineOf({})
  const held: Grouped = { priority: 0, sequence: 1, group: 'a' }
  const behind: Grouped = { priority: 0, sequence: 2, group: 'a' }
  const other: Grouped = { priority: 0, sequence: 3, group: 'b' }
  queue.add(held, false)
  queue.add(behind)
  queue.add(other)
  expect(queue.ahead(behind)).toBe(held)
  expect(queue.isBehind(other)).toBe(false)
  expect(queue.shift()).toBe(other)
  expect(queue.shift()).toBeUndefined()
  queue.add(held)
  expect([queue.shift(), queue.shift()]).toEqual([held, behind])
})

test('one group per entry costs no more than one group for all', () => {
  const queue = lineOf({})
  for (let sequence = 0; sequence < 20_000; sequence++)
    queue.add({ priority: 0, sequence, group: `group ${sequence}` })
  for (let sequence = 0; sequence < 20_000; sequence++) expect(queue.shift()?.sequence).toBe(sequence)
  // Empty groups are forgotten.
  for (let round = 0; round < 20_000; round++) {
    queue.add({ priority: 0, sequence: 30_000 + 2 * round, group: `late ${round}` })
    queue.add({ priority: 0, sequence: 30_001 + 2 * round, group: `later ${round}` })
    queue.shift()
  }
  expect(queue.size).toBe(20_000)
})
