import { describe, expect, test } from 'vitest'
import { type SearchOptions, type System, search } from './search.js'
import { createStateSet } from './stateSet.js'
import { must, Violation } from './violation.js'

/**
 * Two counters from 0 to 9, each of which may be raised by one. A healed world raises the first one to its
 * end.
 */
type Toy = { readonly a: number; readonly b: number }

const TOP = 9

const toy: System<Toy> = {
  width: 2,
  begin: { a: 0, b: 0 },
  steps({ a, b }, report) {
    if (a < TOP) report('raise a', { a: a + 1, b })
    if (b < TOP) report('raise b', { a, b: b + 1 })
  },
  check() {},
  heal: ({ a, b }) => (a < TOP ? { a: a + 1, b } : undefined),
  unfinished: ({ a }) => (a === TOP ? undefined : new Violation('end', `a stays at ${a}`)),
  pack({ a, b }, into) {
    into[0] = a
    into[1] = b
  },
  unpack: ([a = 0, b = 0]) => ({ a, b }),
}

const run = (over: Partial<System<Toy>>, options?: SearchOptions) => search({ ...toy, ...over }, options)

describe('the search', () => {
  test('visits each state once, to the fixed point', () => {
    expect(run({})).toEqual({ states: 100, steps: 180, depth: 18, cut: false })
  })

  test('finds a state that breaks a promise, with the shortest path to it', () => {
    const check = ({ a, b }: Toy) => must(a < 2 || b < 3, 'P0', `a is ${a} and b is ${b}`)
    const { violation } = run({ check })
    expect(violation).toMatchObject({ promise: 'P0', text: 'P0: a is 2 and b is 3' })
    expect([...(violation?.trace ?? [])].sort()).toEqual([
      'raise a',
      'raise a',
      'raise b',
      'raise b',
      'raise b',
    ])
  })

  test('finds a step that breaks a promise, and reports the path up to it', () => {
    const steps: System<Toy>['steps'] = (state, report) => {
      must(state.b < 4, 'P0', 'b is raised beyond 4')
      toy.steps(state, report)
    }
    expect(run({ steps }).violation?.trace).toEqual(['raise b', 'raise b', 'raise b', 'raise b'])
  })

  test('finds a state from which the healed world stops short of its end', () => {
    const heal = ({ a, b }: Toy) => (a < TOP && b !== 2 ? { a: a + 1, b } : undefined)
    expect(run({ heal }).violation).toEqual({
      promise: 'end',
      text: 'end: a stays at 0',
      trace: ['raise b', 'raise b'],
    })
  })

  test('finds a state from which the healed world goes round in circles', () => {
    const heal = ({ a, b }: Toy) => (b === 1 ? { a: (a + 1) % 3, b } : toy.heal({ a, b }))
    expect(run({ heal }).violation).toMatchObject({
      text: 'end: a healed world goes round in circles',
      trace: ['raise b'],
    })
  })

  test('reports that it was cut short, and still follows each found state to its end', () => {
    const { cut, violation } = run({}, { statesMax: 20 })
    expect({ cut, violation }).toEqual({ cut: true, violation: undefined })
    const heal = ({ a, b }: Toy) => (a < 6 ? { a: a + 1, b } : undefined)
    expect(run({ heal }, { statesMax: 5 }).violation?.text).toBe('end: a stays at 6')
  })
})

describe('the set of states', () => {
  test('numbers states in the order of insertion, and recognises each again', () => {
    const set = createStateSet(2)
    const words = new Uint32Array(2)
    const add = (index: number) => {
      words.set([index % 7, Math.floor(index / 7)])
      return set.add(words)
    }
    const count = 200_000
    for (let index = 0; index < count; index++) if (add(index) !== index) throw new Error(`${index} is known`)
    for (let index = 0; index < count; index += 97) expect(add(index)).toBe(index)
    expect(set.size).toBe(count)
    set.read(123_456, words)
    expect([...words]).toEqual([123_456 % 7, Math.floor(123_456 / 7)])
  })
})
