import { describe, expect, test } from 'vitest'
import { parseOptions } from './options.js'
import { LONG_SCOPES, SCOPES } from './scopes.js'

const parse = (text: string) => parseOptions(text.split(' ').filter(Boolean))

describe('the options', () => {
  test('default to the scopes that the tests search, each to its fixed point', () => {
    expect(parse('')).toEqual({
      kind: 'run',
      options: {
        scopes: Object.values(SCOPES),
        budget: undefined,
        statesMax: undefined,
        json: false,
        progress: false,
      },
    })
  })

  test('a scope that is too long for the tests can be named', () => {
    const [name = ''] = Object.keys(LONG_SCOPES)
    expect(parse(`--scope ${name} --budget 0 --states-max 500`)).toMatchObject({
      kind: 'run',
      options: { scopes: [LONG_SCOPES[name as keyof typeof LONG_SCOPES]], budget: 0, statesMax: 500 },
    })
  })

  test.each([
    ['--scope nowhere', '--scope'],
    ['--scope constructor', '--scope'],
    ['--budget none', '--budget'],
    ['--states-max 0', '--states-max'],
    ['--states 5', '--states'],
  ])('%s is refused, and the option is named', (text, named) => {
    expect(parse(text)).toMatchObject({ kind: 'bad', message: expect.stringContaining(named) })
  })
})
