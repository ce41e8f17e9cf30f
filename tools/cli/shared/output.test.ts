import { afterEach, expect, test, vi } from 'vitest'
import { colors, pairs, wrapped } from './output.js'

const ADDRESS = `0x${'1'.repeat(40)}`

test('wraps a value below its beginning, and never breaks an address', () => {
  const text = pairs(
    [
      ['account', ADDRESS],
      ['missing', 'the node does not show its pool, so that is unknown'],
    ],
    40,
  )
  expect(text).toBe(
    [
      `account  ${ADDRESS}`,
      'missing  the node does not show its',
      '         pool, so that is unknown',
      '',
    ].join('\n'),
  )
})

test('wraps each line of a text with its own indentation, and leaves it alone without a terminal', () => {
  const text = 'two lines:\n  line 3: a contract reverts'
  expect(wrapped(text, 20)).toBe('two lines:\n  line 3: a contract\n  reverts')
  expect(wrapped(text, Number.POSITIVE_INFINITY)).toBe(text)
})

afterEach(() => {
  vi.unstubAllEnvs()
})

test.each([
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
])('FORCE_COLOR=%s: colours are %s', (forced, isColoured) => {
  vi.stubEnv('NO_COLOR', '')
  vi.stubEnv('FORCE_COLOR', forced)
  expect(colors().isColorSupported).toBe(isColoured)
  vi.stubEnv('NO_COLOR', '1')
  expect(colors().isColorSupported).toBe(false)
})
