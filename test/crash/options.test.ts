import { describe, expect, test } from 'vitest'
import { parseOptions } from './options.js'
import { POINT_NAMES, planSweep } from './plan.js'

const parse = (text: string) => parseOptions(text.split(' ').filter(Boolean))

describe('the options', () => {
  test('default to 100 kills on SQLite', () => {
    expect(parse('')).toEqual({
      kind: 'run',
      options: { kills: 100, store: 'sqlite', seed: 1, json: false, postgres: undefined, group: undefined },
    })
  })

  test.each([
    ['--kills many', '--kills', 'many'],
    ['--kills 0', '--kills', '0'],
    ['--store paper', '--store', 'paper'],
    ['--seed -1', '--seed', '-1'],
    ['--postgres postgres://127.0.0.1/x', '--postgres', 'sqlite'],
    ['--kills 40 --group 2', '--group', '2'],
    ['--kils 3', '--kils', ''],
  ])('%s is refused, and the message names the fault', (text, option, value) => {
    const parsed = parse(text)
    expect(parsed).toMatchObject({ kind: 'bad', message: expect.stringContaining(option) })
    expect(parsed).toMatchObject({ message: expect.stringContaining(value) })
  })

  test('an invalid connection string is not shown, because it may hold a password', () => {
    const parsed = parse('--store postgres --postgres mysql://me:hidden@127.0.0.1/x')
    expect(parsed).toMatchObject({ kind: 'bad', message: expect.not.stringContaining('hidden') })
  })
})

describe('the plan', () => {
  test('one seed always makes the same kills, and another seed others', () => {
    expect(planSweep(60, 7)).toEqual(planSweep(60, 7))
    expect(planSweep(60, 7)).not.toEqual(planSweep(60, 8))
  })

  test('a group of kills is the same in a longer sweep', () => {
    expect(planSweep(200, 7)[2]).toEqual(planSweep(60, 7)[2])
  })

  test('30 kills cover each point, and some are random', () => {
    const hows = planSweep(30, 3).flatMap(({ kills }) => kills.map(({ how }) => how))
    const points = new Set(hows.flatMap((how) => (how.at === 'point' ? [how.point] : [])))
    expect([...points].sort()).toEqual([...POINT_NAMES].sort())
    expect(hows.some(({ at }) => at === 'random')).toBe(true)
  })
})
