import { expect, test } from 'vitest'
import { pairs, wrapped } from './output.js'

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
