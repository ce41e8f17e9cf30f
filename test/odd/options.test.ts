import { describe, expect, test } from 'vitest'
import { parseOptions } from './options.js'

const parse = (...argv: string[]) => parseOptions(argv)

describe('the options', () => {
  test('default to 200 worlds from seed 1', () => {
    expect(parse()).toMatchObject({
      kind: 'run',
      options: { worlds: 200, seconds: undefined, seed: 1, fault: undefined, all: false },
    })
  })

  test('a duration replaces the number of worlds', () => {
    expect(parse('--seconds', '60')).toMatchObject({ options: { worlds: undefined, seconds: 60 } })
    expect(parse('--seconds', '60', '--worlds', '5')).toMatchObject({ kind: 'bad' })
  })

  test('a fault is selected by the beginning of its name, and an unknown one is refused', () => {
    expect(parse('--fault', 'countLatest off 5')).toMatchObject({ options: { fault: 'countLatest off 5' } })
    expect(parse('--fault', 'countLatest of 5')).toMatchObject({ kind: 'bad' })
  })

  test('the number of endpoints is given, or drawn', () => {
    expect(parse()).toMatchObject({ options: { endpoints: undefined, honest: false } })
    expect(parse('--endpoints', '2', '--honest')).toMatchObject({ options: { endpoints: 2, honest: true } })
    expect(parse('--endpoints', '3')).toMatchObject({ kind: 'bad' })
    expect(parse('--endpoints', '1', '--honest')).toMatchObject({ kind: 'bad' })
  })

  test('the options that a failure prints are accepted unchanged', () => {
    const keep = { faults: [0], extras: ['restart'], items: [3, 7] }
    expect(parse('--keep', JSON.stringify(keep))).toMatchObject({ options: { keep } })
  })

  test.each(['7', '[]', '{"faults":["0"]}', '{"payments":[1]}', '{'])('no part of a world: %s', (text) => {
    expect(parse('--keep', text)).toMatchObject({ kind: 'bad' })
  })
})
