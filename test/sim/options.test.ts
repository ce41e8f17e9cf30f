import { describe, expect, test } from 'vitest'
import { parseOptions } from './options.js'

const parse = (...argv: string[]) => parseOptions(argv)

describe('the options', () => {
  test('default to 200 worlds of one key, with faults', () => {
    expect(parse()).toMatchObject({
      kind: 'run',
      options: { runs: 200, seed: 1, calm: false, pools: false, transactions: undefined, keep: undefined },
    })
  })

  test('the options that a failure prints are accepted unchanged', () => {
    const keep = { items: [1, 4], disturbances: [], faults: ['lostRequest'] }
    const argv = [
      '--runs',
      '1',
      '--seed',
      '77',
      '--deep',
      '--transactions',
      '9',
      '--keep',
      JSON.stringify(keep),
    ]
    expect(parse(...argv)).toMatchObject({
      kind: 'run',
      options: { runs: 1, seed: 77, deep: true, transactions: 9, keep },
    })
  })

  // With these, nothing would run and no fault be found.
  test.each([
    ['--runs', ['--runs', 'many']],
    ['--runs', ['--runs', '0']],
    ['--runs', ['--runs', '1e3']],
    ['--seed', ['--seed', '-1']],
    ['--transactions', ['--transactions', '0']],
    ['--keep', ['--keep', '{']],
    ['--keep', ['--keep', '[1]']],
    ['--keep', ['--keep', '{"items":["a"]}']],
    ['--keep', ['--keep', '{"item":[1]}']],
    ['--deep', ['--pools', '--deep']],
    ['--busy', ['--pools', '--busy']],
    ['--keep', ['--pools', '--keep', '{}']],
    ['--reads', ['--reads']],
    ['--sed', ['--sed', '7']],
    ['arguments', ['100']],
  ])('a meaningless value is refused, and %s named: %j', (named, argv) => {
    expect(parse(...argv)).toMatchObject({ kind: 'bad', message: expect.stringContaining(named) })
  })
})
