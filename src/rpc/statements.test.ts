import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { property, readStatements, type Statement, says } from './statements.js'

const textsOf = (error: unknown) => readStatements(error).map(({ texts }) => texts)
const outer = (error: unknown): Partial<Statement> => readStatements(error)[0] ?? {}
const throwing = () => {
  throw new Error('no')
}

describe('the layers of an error', () => {
  test.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a boolean', true],
    ['a number', 5],
    ['a bigint', 5n],
    ['a symbol', Symbol('nonce too low')],
    ['a function', () => 'nonce too low'],
  ])('do not include %s, alone or inside an error', (_, value) => {
    expect(readStatements(value)).toEqual([])
    expect(textsOf({ message: 'outer', cause: value, error: value, data: value })).toEqual([['outer']])
  })

  const nothing = {
    code: undefined,
    data: undefined,
    kind: undefined,
    status: undefined,
    retryAfterMs: undefined,
  }
  test.each<readonly [string, unknown]>([
    ['a text', 'nonce too low'],
    ['an object', { message: 'nonce too low' }],
  ])('include %s, with every field', (_, error) => {
    expect(readStatements(error)).toStrictEqual([{ ...nothing, texts: ['nonce too low'] }])
  })

  test.each([
    'cause',
    'error',
    'info',
    'rpc',
    'data',
    'originalError',
    'failure',
    'response',
    'body',
    'responseBody',
  ])('include an object in `%s`', (key) => {
    expect(textsOf({ message: 'outer', [key]: { message: 'inner' } })).toEqual([['outer'], ['inner']])
  })

  test('do not include a text in `data`, which may come from a contract, but include one in `body`', () => {
    expect(textsOf({ message: 'outer', data: 'inner' })).toEqual([['outer']])
    expect(outer({ message: 'outer', data: 'inner' }).data).toBe('inner')
    expect(textsOf({ message: 'outer', body: 'inner' })).toEqual([['outer'], ['inner']])
  })

  const deep = (count: number): object =>
    Array.from({ length: count }).reduce<object>(
      (cause, _, index) => ({ message: `${count - index}`, cause }),
      {},
    )
  const wide = (depth: number): object =>
    depth === 0
      ? { message: 'leaf' }
      : { cause: wide(depth - 1), error: wide(depth - 1), info: wide(depth - 1), rpc: 'text' }

  test.each<readonly [string, object]>([
    ['a deep error', deep(100)],
    ['a wide error', wide(5)],
  ])('%s has at most 32', (_, error) => {
    expect(readStatements(error)).toHaveLength(32)
  })

  test('start with the outermost, and are read down to the thirty-second', () => {
    expect(textsOf(deep(100))).toEqual(Array.from({ length: 32 }, (_, index) => [`${index + 1}`]))
  })
})

describe('the texts of a layer', () => {
  test.each<readonly [string, object, readonly string[]]>([
    ['only the details, if there are any', { details: 'a', reason: 'b', message: 'c' }, ['a']],
    ['the reason before the message', { message: 'c', reason: 'b' }, ['b', 'c']],
    ['the message if the details are empty', { details: '', message: 'c' }, ['c']],
    ['the message if the details are no text', { details: { a: 1 }, message: 'c' }, ['c']],
    ['none if the message is no text', { message: 5, reason: null }, []],
  ])('are %s', (_, error, texts) => {
    expect(outer(error).texts).toEqual(texts)
  })
})

describe('a JSON object inside a text', () => {
  test.each([
    '{"message":"inner"}',
    '"{"message":"inner"}"',
    'HTTP error 429 with body: {"message":"inner"}',
    '{"message":"inner"} (request 7)',
    '{ "message": "inner" }',
    'body:\n{\n  "message": "inner"\n}\n',
  ])('is a layer of its own: %j', (text) => {
    expect(textsOf(text)).toEqual([[text], ['inner']])
    expect(textsOf({ message: text })).toEqual([[text], ['inner']])
  })

  test.each(['nonce too low', '{}', '}', '["inner"]', '{"message":"inner"', '{message: "inner"}', '{"a" b}'])(
    'is not found in %j',
    (text) => {
      expect(textsOf(text)).toEqual([[text]])
      expect(textsOf({ message: text })).toEqual([[text]])
    },
  )

  test.each([
    [19_999, 2],
    [20_000, 2],
    [20_001, 1],
    [200_000, 1],
  ])(
    'is read from a text of at most 20,000 characters: in %d characters there are %d layers',
    (chars, layers) => {
      const text = `:${JSON.stringify({ message: 'inner' }).padEnd(chars - 1)}`
      expect(text).toHaveLength(chars)
      expect(readStatements(text)).toHaveLength(layers)
    },
  )
})

test.each<readonly [string, object]>([
  ['a code of JSON-RPC', { code: -32000 }],
  ['a code of ethers', { code: 'CALL_EXCEPTION' }],
  ['the kind of a failure of a port', { kind: 'rpc' }],
])('a layer has the given %s', (_, fields) => {
  expect(outer({ message: 'no', ...fields })).toMatchObject(fields)
})

describe('a field of the wrong type', () => {
  const WRONG: Readonly<Record<string, readonly unknown[]>> = {
    code: [null, true, 5n, {}, []],
    kind: [null, true, 5, {}, []],
    status: [null, true, 503n, {}, [], '', 'failed', '5034', ' 503', Number.NaN],
    retryAfterMs: [null, true, 5n, {}, [], '', '5', 'soon'],
  }
  const wrong = Object.entries(WRONG).flatMap(([key, values]) => values.map((value) => [key, value] as const))

  test.each(wrong)('is ignored: `%s` is %o', (key, value) => {
    expect(outer({ [key]: value })).toMatchObject({ [key]: undefined })
  })
})

describe('the HTTP status', () => {
  const ESCALATED = 'CLIENT ESCALATED SERVER ERROR (429 Too Many Requests; retry limit)'

  test.each<readonly [string, object, number | undefined]>([
    ['the `status` of viem and of a port', { status: 503 }, 503],
    ['the `statusCode` of ethers', { statusCode: 404 }, 404],
    ['the number at the start of the `responseStatus` of ethers', { responseStatus: '503 Unavailable' }, 503],
    ['the next one if the first is no status', { status: 'failed', statusCode: 404 }, 404],
    ['the next one if the first is not a number', { status: Number.NaN, statusCode: 404 }, 404],
    ['100, the lowest', { status: 100 }, 100],
    ['599, the highest', { status: 599 }, 599],
    ['nothing below 100', { status: 99 }, undefined],
    ['nothing from 600 on', { status: 600 }, undefined],
    ['absent if the number is not at the start', { responseStatus: 'error 503' }, undefined],
    ['absent if there is a single digit', { responseStatus: '5 errors' }, undefined],
    ['absent if there are more digits', { responseStatus: '50312 errors' }, undefined],
    ['absent if there are letters', { responseStatus: 'abc' }, undefined],
  ])('is %s', (_, error, status) => {
    expect(outer(error).status).toBe(status)
  })

  test.each<readonly [string, object, number]>([
    ['a response of ethers', { statusCode: 599, statusMessage: ESCALATED }, 429],
    ['the info of an error of ethers', { responseStatus: `599 ${ESCALATED}` }, 429],
    ['another text first', { statusMessage: 'no', responseStatus: `599 ${ESCALATED}` }, 429],
    ['599 alone', { statusCode: 599 }, 599],
    ['599 with another text', { statusCode: 599, statusMessage: 'Network Connect Timeout' }, 599],
    ['599 without a number in it', { status: 599, statusMessage: ESCALATED.replace('429', 'no') }, 599],
    ['599 with letters in it', { status: 599, statusMessage: ESCALATED.replace('429', 'abc') }, 599],
    ['599 with a text that throws', { status: 599, statusMessage: { toString: throwing } }, 599],
    ['another status beside such a text', { status: 503, statusMessage: ESCALATED }, 503],
  ])('is the status that ethers escalated to 599, if it says so: %s', (_, error, status) => {
    expect(outer(error).status).toBe(status)
  })
})

describe('the pause that an endpoint asks for', () => {
  const header = (text: string) => ({ headers: { 'retry-after': text } })
  const backoff = (seconds: unknown) => ({ data: { backoff_seconds: seconds } })

  test.each<readonly [string, object, number | undefined]>([
    ['the milliseconds of a port', { retryAfterMs: 1_500 }, 1_500],
    ['no time at all', { retryAfterMs: 0, message: 'retry in 10s' }, 0],
    ['the header of a Headers', { headers: new Headers({ 'Retry-After': '2' }) }, 2_000],
    ['the header of a plain object', header('2'), 2_000],
    ['a header of no time at all', { ...header('0'), message: 'retry in 10s' }, 0],
    ['the header before `backoff_seconds`', { ...header('2'), ...backoff(30) }, 2_000],
    ['`backoff_seconds` beside an empty header', { ...header(' '), ...backoff(30) }, 30_000],
    ['`backoff_seconds`', backoff(30), 30_000],
    ['`backoff_seconds` of a `rate`', { data: { rate: { backoff_seconds: 30 } } }, 30_000],
    ['seconds in words', { message: 'rate limited, retry in 10s' }, 10_000],
    ['minutes in words', { message: 'rate limited, retry in 10m1s' }, 601_000],
    ['words in the second text', { reason: 'rate limited', message: 'retry in 10s' }, 10_000],
    ['words within the first 500 characters', { message: 'retry in 10s'.padStart(500) }, 10_000],
  ])('is read from %s', (_, error, ms) => {
    expect(outer(error).retryAfterMs).toBe(ms)
  })

  test.each<readonly [string, object]>([
    ['an error without any of them', { message: 'rate limited', headers: new Headers(), data: {} }],
    ['a negative number', { retryAfterMs: -1 }],
    ['an endless one', { retryAfterMs: Number.POSITIVE_INFINITY }],
    ['one that is not a number', { retryAfterMs: Number.NaN }],
    ['a negative header', header('-1')],
    ['an endless header', header('Infinity')],
    ['an empty header', header('')],
    ['a header that is no number', header('soon')],
    ['a header that is no text', { headers: { 'retry-after': 2 } }],
    ['negative `backoff_seconds`', backoff(-1)],
    ['endless `backoff_seconds`', backoff(Number.POSITIVE_INFINITY)],
    ['`backoff_seconds` as a text', backoff('5')],
    ['`backoff_seconds` as a boolean', backoff(true)],
    ['a text as data', { data: 'backoff_seconds' }],
    ['words behind the first 500 characters', { message: 'retry in 10s'.padStart(501) }],
    ['words without a unit', { message: 'retry in 10' }],
  ])('is not read from %s', (_, error) => {
    expect(outer(error).retryAfterMs).toBeUndefined()
  })

  test('is read only from a Headers object: no method of another object is called', () => {
    let calls = 0
    const get = () => {
      calls++
      return '2'
    }
    for (const headers of [{ get }, Object.assign(new Map(), { get }), Object.assign(() => {}, { get })])
      expect(outer({ headers }).retryAfterMs).toBeUndefined()
    expect(calls).toBe(0)
  })

  test('is not read from a Headers object that throws', () => {
    const headers = Object.assign(new Headers({ 'retry-after': '2' }), { get: throwing })
    expect(outer({ headers }).retryAfterMs).toBeUndefined()
  })
})

describe('a property', () => {
  test('is read from an object or a function', () => {
    expect(property({ code: 4 }, 'code')).toBe(4)
    expect(
      property(
        Object.assign(() => {}, { code: 4 }),
        'code',
      ),
    ).toBe(4)
  })

  test.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a text', 'nonce'],
    ['an object without it', {}],
    ['an object that throws', Object.defineProperty({}, 'length', { get: throwing })],
  ])('is undefined for %s', (_, value) => {
    expect(property(value, 'length')).toBeUndefined()
  })
})

describe('the words', () => {
  test('are found in the texts and in the data of every layer', () => {
    const statements = readStatements({ message: 'a', data: 'b', cause: { reason: 'c', message: 'd' } })
    for (const word of ['a', 'b', 'c', 'd']) expect(says(statements, new RegExp(word))).toBe(true)
    expect(says(statements, /e/)).toBe(false)
  })

  test('are not searched in data that is no text', () => {
    const anything = fc.anything().filter((data) => typeof data !== 'string')
    fc.assert(
      fc.property(anything, (data) => {
        const statement: Statement = { ...(outer('') as Statement), data, texts: [] }
        expect(says([statement], /(?:)/)).toBe(false)
      }),
      { numRuns: runsOf(200) },
    )
  })
})
